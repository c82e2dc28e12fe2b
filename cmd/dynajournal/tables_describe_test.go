package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// described returns two tables that a JVM and Go share.
func described() []dynajournal.Table {
	key := func(name, kind string) dynajournal.KeyAttribute {
		return dynajournal.KeyAttribute{Name: name, Type: kind}
	}
	return []dynajournal.Table{
		{
			Name: "pekko-persistence", Status: "ACTIVE",
			Keys: []dynajournal.KeyAttribute{key("par", "S"), key("num", "N")},
			Indexes: []dynajournal.Index{{
				Name: "persistence-ids-idx", Keys: []dynajournal.KeyAttribute{key("num", "N")}, Status: "ACTIVE",
			}},
			TTL: "expires", TTLStatus: "ENABLED",
			Version: 1, Kind: "shared", Shards: 10, FenceWindow: 24 * time.Hour,
		},
		{
			Name: "pekko-persistence-snapshot", Status: "ACTIVE",
			Keys: []dynajournal.KeyAttribute{key("par", "S"), key("seq", "N")},
			Indexes: []dynajournal.Index{{
				Name: "ts-idx", Local: true, Keys: []dynajournal.KeyAttribute{key("par", "S"), key("ts", "N")},
			}},
			TTLStatus: "DISABLED",
		},
	}
}

func TestTablesDescribe_ComparesFile(t *testing.T) {
	type tables = []dynajournal.Table
	headerless := func(t tables) { t[0].Version, t[0].Kind, t[0].Shards, t[0].FenceWindow = 0, "", 0, 0 }
	for name, c := range map[string]struct {
		file, used dynajournal.Config
		change     func(tables)
		// want has the beginning of each difference as text.
		want []string
	}{
		"what was made agrees": {change: func(tables) {}},
		"the file says the defaults": {
			file: dynajournal.Config{
				JournalTable: "pekko-persistence", SnapshotTable: "pekko-persistence-snapshot",
				JournalName: "journal", SequenceShards: 10, IDsIndexName: "persistence-ids-idx",
			},
			change: func(tables) {},
		},
		"expiry that is being turned on": {change: func(t tables) { t[0].TTLStatus = "ENABLING" }},
		"a service without expiry":       {change: func(t tables) { t[0].TTL, t[0].TTLStatus = "", "" }},
		"an index with a range key": {change: func(t tables) {
			i := &t[0].Indexes[0]
			i.Keys = append(i.Keys, dynajournal.KeyAttribute{Name: "par", Type: "S"})
		}},

		"another number of shards": {
			file: dynajournal.Config{SequenceShards: 7}, change: func(tables) {},
			want: []string{"differs: pekko-persistence: f.conf says sequence-shards = 7 / the header of journal " +
				"journal says 10 shards / set sequence-shards = 10 in f.conf"},
		},
		"the default of another number of shards": {
			change: func(t tables) { t[0].Shards = 3 },
			want: []string{"differs: pekko-persistence: f.conf does not set sequence-shards: it is 10 / the header " +
				"of journal journal says 3 shards / set sequence-shards = 3"},
		},
		"no header": {
			change: headerless,
			want: []string{"note: pekko-persistence: f.conf does not set sequence-shards: it is 10 / journal journal " +
				"has no header / if it should have one, correct journal-name"},
		},
		"a native journal": {
			change: func(t tables) {
				t[0].Kind, t[0].Indexes, t[1].Indexes = "native", []dynajournal.Index{{Name: "ids-idx"}}, nil
			},
			want: []string{"differs: pekko-persistence: f.conf does not set journal-name: it is journal / the header " +
				"of journal journal says native, 10 shards / make other tables"},
		},
		"a table of native journals without the header": {
			file: dynajournal.Config{JournalName: "b"}, used: dynajournal.Config{JournalName: "b"},
			change: func(t tables) {
				headerless(t)
				t[0].Indexes = []dynajournal.Index{{Name: "ids-idx"}}
			},
			want: []string{"differs: pekko-persistence: f.conf says journal-name = b / the table is for native " +
				"journals, and has no header of journal b / correct journal-name"},
		},
		"a header of a later release": {
			change: func(t tables) {
				headerless(t)
				t[0].Version = 3
			},
			want: []string{"differs: pekko-persistence: f.conf does not set journal-name: it is journal / the header " +
				"of journal journal has format version 3 / use a newer release"},
		},

		"names that the flags change": {
			file: dynajournal.Config{JournalTable: "x", SnapshotTable: "y", JournalName: "z"},
			used: dynajournal.Config{JournalTable: "pekko-persistence"}, change: func(tables) {},
			want: []string{
				"differs: pekko-persistence: f.conf says journal-table = x / --journal-table or " +
					"$DYNAJOURNAL_JOURNAL_TABLE says pekko-persistence, which overrides the file / correct one",
				"differs: pekko-persistence-snapshot: f.conf says snapshot-table = y / --snapshot-table or " +
					"$DYNAJOURNAL_SNAPSHOT_TABLE says pekko-persistence-snapshot",
				"differs: pekko-persistence: f.conf says journal-name = z / --journal-name or " +
					"$DYNAJOURNAL_JOURNAL_NAME says journal",
			},
		},
		"tables that do not exist": {
			file: dynajournal.Config{JournalTable: "x", SequenceShards: 4}, used: dynajournal.Config{JournalTable: "x"},
			change: func(t tables) { t[1].Name = "other" },
			want: []string{
				"differs: x: f.conf says journal-table = x / there is no table x / correct the name, or make it with " +
					"`dynajournal tables create --shared-with-jvm --sequence-shards 4`",
				"differs: pekko-persistence-snapshot: f.conf does not set snapshot-table: it is " +
					"pekko-persistence-snapshot / there is no table pekko-persistence-snapshot / correct",
			},
		},
		"a table that is being deleted": {
			change: func(t tables) { t[0].Status = "DELETING" },
			want:   []string{"differs: pekko-persistence: f.conf does not set journal-table: it is pekko-persistence / the table is DELETING"},
		},
		"names that are exchanged": {
			change: func(t tables) { t[0].Keys, t[1].Keys = t[1].Keys, t[0].Keys },
			want: []string{
				"differs: pekko-persistence: f.conf does not set journal-table: it is pekko-persistence / its key is " +
					"par (S), seq (N) instead of par (S), num (N) / correct the name: it is a table of snapshots",
				"differs: pekko-persistence-snapshot: f.conf does not set snapshot-table: it is " +
					"pekko-persistence-snapshot / its key is par (S), num (N) instead of par (S), seq (N) / correct " +
					"the name: it is a table of events",
			},
		},
		"a table of 0.3": {
			change: func(t tables) { t[0].Keys = []dynajournal.KeyAttribute{{Name: "key", Type: "S"}} },
			want: []string{"differs: pekko-persistence: f.conf does not set journal-table: it is pekko-persistence / " +
				"its key is key (S) instead of par (S), num (N) / copy it with `dynajournal migrate --from-layout hash-key`"},
		},

		"no index of ids": {
			change: func(t tables) { t[0].Indexes = nil },
			want: []string{"note: pekko-persistence: f.conf does not set persistence-ids-index-name: it is " +
				"persistence-ids-idx / there is no index persistence-ids-idx / to list persistence ids"},
		},
		"an index of ids that the file names, and that is not there": {
			file: dynajournal.Config{IDsIndexName: "ids"}, change: func(tables) {},
			want: []string{"differs: pekko-persistence: f.conf says persistence-ids-index-name = ids / there is no index ids"},
		},
		"an index of another key": {
			change: func(t tables) { t[0].Indexes[0].Keys[0].Name = "par" },
			want: []string{"differs: pekko-persistence: f.conf does not set persistence-ids-index-name: it is " +
				"persistence-ids-idx / index persistence-ids-idx is not a global index by num (N)"},
		},
		"an index that is being filled": {
			change: func(t tables) { t[0].Indexes[0].Status = "CREATING" },
			want: []string{"note: pekko-persistence: f.conf does not set persistence-ids-index-name: it is " +
				"persistence-ids-idx / index persistence-ids-idx is CREATING / wait"},
		},
		"an index with less capacity than its table": {
			change: func(t tables) { t[0].WriteUnits, t[0].Indexes[0].WriteUnits = 10, 9 },
			want: []string{"note: pekko-persistence: f.conf has no key for it / index persistence-ids-idx has 9 write " +
				"units, the table has 10 / give the index as many"},
		},
		"no index of snapshots": {
			change: func(t tables) { t[1].Indexes = nil },
			want: []string{"differs: pekko-persistence-snapshot: f.conf has no key for it / there is no index ts-idx / " +
				"name another snapshot table"},
		},

		"no expiry": {
			change: func(t tables) { t[0].TTL, t[0].TTLStatus = "", "DISABLED" },
			want: []string{"note: pekko-persistence: f.conf has no key for it / items do not expire (DISABLED) / call " +
				"`dynajournal tables update`"},
		},
		"expiry that is being turned off": {
			change: func(t tables) { t[0].TTL, t[0].TTLStatus = "", "DISABLING" },
			want: []string{"note: pekko-persistence: f.conf has no key for it / expiry is being turned off " +
				"(DISABLING) / wait until it is off"},
		},
		"no expiry in several Regions": {
			change: func(t tables) { t[0].TTL, t[0].TTLStatus, t[0].MultiRegionConsistency = "", "DISABLED", "STRONG" },
			want: []string{"note: pekko-persistence: f.conf has no key for it / items can't expire: the table is strongly " +
				"consistent in several Regions / remove expired tombstones with `dynajournal repair`"},
		},
		"expiry by another attribute": {
			change: func(t tables) { t[0].TTL = "until" },
			want: []string{"note: pekko-persistence: f.conf has no key for it / items expire by until (ENABLED), " +
				"tombstones have expires / a table can have only one such attribute"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			there := described()
			c.change(there)
			compared := comparison{path: "f.conf", file: newSettings(c.file), used: newSettings(c.used)}
			var got []string
			for _, d := range compared.compare(there) {
				got = append(got, d.text())
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("it finds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestTablesDescribeComparesTheConfiguration(t *testing.T) {
	clean(t)
	conf := filepath.Join(t.TempDir(), "application.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(status int, says string) []map[string]any {
		t.Helper()
		o := invoke(t.Context(), "", "--config", conf, "tables", "describe")
		if o.status != status || !strings.HasSuffix(o.err, says+"\n") || strings.Count(o.err, "\n") != 1 {
			t.Errorf("it ended with %d: %s", o.status, o.err)
		}
		return results(t, o.out)
	}
	write("dynamodb-journal { journal-name = bank, sequence-shards = 7 }")
	missing := describe(statusFailed, "application.conf differs from the tables in 2 points that matter")
	if len(missing) != 2 || keys(missing[0]) != "advice found key matters says table" {
		t.Errorf("without tables: %v", missing)
	}

	must(t, "--config", conf, "tables", "create", "--shared-with-jvm")
	if got := describe(statusDone, "application.conf agrees with the tables"); len(got) != 2 {
		t.Errorf("what was made from the file: %v", got)
	}

	write("dynamodb-journal { journal-name = bank, sequence-shards = 8 }")
	got := describe(statusFailed, "application.conf differs from the tables in 1 point that matters")
	if len(got) != 3 || got[2]["key"] != "sequence-shards" || got[2]["matters"] != true ||
		got[2]["found"] != "the header of journal bank says 7 shards" {
		t.Errorf("another number of shards: %v", got)
	}

	write("dynamodb-journal { journal-name = other, sequence-shards = 8 }")
	got = describe(statusDone, "application.conf agrees with the tables in all that matters")
	if len(got) != 3 || got[2]["key"] != "sequence-shards" || got[2]["matters"] != false {
		t.Errorf("a journal without a header: %v", got)
	}

	t.Setenv("DYNAJOURNAL_CONFIG", conf)
	if got := must(t, "tables", "describe"); len(got) != 3 {
		t.Errorf("a file that the environment names: %v", got)
	}
}

func TestTablesDescribeShowsExpiry(t *testing.T) {
	clean(t)
	must(t, "tables", "create", "--billing", "provisioned", "--rcu", "3", "--wcu", "4")
	got := must(t, "tables", "describe")
	for key, want := range map[string]any{
		"ttl": "expires", "ttl_status": "ENABLED", "stream": "", "fence_window": 86400.0,
		"items": 1.0, "bytes": 58.0, "deletion_protection": false, "point_in_time_recovery": "DISABLED", "class": "", "encryption": "",
		"billing": "provisioned", "read_units": 3.0, "write_units": 4.0, "kind": "native",
	} {
		if got[0][key] != want {
			t.Errorf("%s is %v, want %v", key, got[0][key], want)
		}
	}
	if got[1]["ttl"] != "expires" || got[1]["ttl_status"] != "ENABLED" || got[1]["fence_window"] != 0.0 {
		t.Errorf("the snapshot table is %v", got[1])
	}
	o := invoke(t.Context(), "", "--output", "text", "tables", "describe")
	const protection = ", not protected from deletion, point-in-time recovery off\n"
	want := "pekko-persistence: ACTIVE, native, 1 shards, key par (S) and num (N), indexes ids-idx, " +
		"items expire by expires (ENABLED), fence window 24h0m0s, format version 2, provisioned: 3 read and 4 write units, about 1 items, 58 bytes" + protection +
		"pekko-persistence-snapshot: ACTIVE, key par (S) and seq (N), items expire by expires (ENABLED), " +
		"provisioned: 3 read and 4 write units, about 0 items, 0 bytes" + protection
	if o.out != want {
		t.Errorf("it shows\n%swant\n%s", o.out, want)
	}
}

func TestTablesDescribeShowsReplicas(t *testing.T) {
	table := described()[1]
	without, err := json.Marshal(newTableResult(table))
	if err != nil {
		t.Fatal(err)
	}
	if text := newTableResult(table).text(); bytes.Contains(without, []byte("replicas")) ||
		bytes.Contains(without, []byte("multi_region_consistency")) || strings.Contains(text, "replicas") {
		t.Errorf("without replicas: %s\n%s", without, text)
	}
	table.Replicas, table.MultiRegionConsistency = []string{"eu-west-1", "eu-west-3"}, "STRONG"
	with, err := json.Marshal(newTableResult(table))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(with, []byte(`"replicas":["eu-west-1","eu-west-3"],"multi_region_consistency":"STRONG"`)) {
		t.Errorf("got %s", with)
	}
	if text := newTableResult(table).text(); !strings.Contains(text, ", replicas in eu-west-1, eu-west-3 (STRONG), ") {
		t.Errorf("got %s", text)
	}
}
