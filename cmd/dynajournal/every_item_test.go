package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/serialization"
)

// itemValues are the attributes of an item that a test puts.
type itemValues = map[string]types.AttributeValue

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func bytesValue(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

// plantedItems are items of the journal table and of the snapshot table.
type plantedItems struct {
	keys               layout.Keys
	journal, snapshots []itemValues
}

// with returns an item with more attributes.
func with(item, more itemValues) itemValues {
	maps.Copy(item, more)
	return item
}

// event adds an event in the current form.
func (p *plantedItems) event(pid string, seq int64, more itemValues) {
	p.journal = append(p.journal, with(p.keys.EncodeEvent(&layout.Event{
		PersistenceID: pid, SequenceNr: seq, Bytes: fmt.Append(nil, pid, seq), SerializerID: serialization.IDString,
		WriterUUID: "writer-of-" + pid,
	}), more))
}

// oldEvent adds an event in the form of Akka 1.0 and 1.1.
func (p *plantedItems) oldEvent(pid string, seq int64, more itemValues) {
	p.journal = append(p.journal, with(p.keys.EncodeEvent(&layout.Event{
		PersistenceID: pid, SequenceNr: seq, Bytes: fmt.Append(nil, pid, seq), SerializerID: serialization.IDString,
		WriterUUID: "writer-of-" + pid, Manifest: "adapted", Enveloped: true,
	}), more))
}

// member returns the attributes of a member of an atomic write of three events.
func member(idx int64) itemValues {
	return itemValues{"idx": numberValue(idx), "cnt": numberValue(2)}
}

// mark adds a low mark (SL) or a high mark (SH).
func (p *plantedItems) mark(kind, pid string, shard int, seq int64, more itemValues) {
	p.journal = append(p.journal, with(itemValues{
		"par": stringValue(fmt.Sprintf("journal-%s-%s-%d", kind, pid, shard)), "num": numberValue(0), "seq": numberValue(seq),
	}, more))
}

// snapshot adds a snapshot in the plug-in's form.
func (p *plantedItems) snapshot(pid string, seq int64, more itemValues) {
	p.snapshots = append(p.snapshots, with(itemValues{
		"par": stringValue("journal-P-" + pid), "seq": numberValue(seq), "ts": numberValue(1_700_000_000_000 + seq%100),
		"pay_data": bytesValue(fmt.Sprint("state ", seq)), "ser_id": numberValue(int64(serialization.IDString)),
	}, more))
}

// everyItem returns an item of every kind that a journal can contain, and the persistence ids of
// these items.
func everyItem() (items *plantedItems, pids []string) {
	p := &plantedItems{keys: layout.Keys{Journal: "journal", Shards: 10}}
	soon := time.Now().Add(20 * time.Hour).Unix()
	expires := itemValues{"expires": numberValue(soon)}

	p.event("single", 1, nil)
	p.event("single", 2, itemValues{"ev_ser_manifest": stringValue("bank.Paid"), "manifest": stringValue("adapted")})
	p.event("single", 3, itemValues{
		"time": numberValue(1_700_000_000_000_001), "tags": &types.AttributeValueMemberSS{Value: []string{"blue", "red"}},
		"meta": &types.AttributeValueMemberM{Value: itemValues{"tenant": stringValue("a"), "none": stringValue("")}},
	})
	// Metadata and tags that this project does not write.
	p.event("described", 1, itemValues{
		"time": numberValue(1), "tags": &types.AttributeValueMemberSS{Value: []string{strings.Repeat("t", 3000)}},
		"meta": &types.AttributeValueMemberM{Value: itemValues{"tenant": stringValue(strings.Repeat("m", 3000))}},
	})
	p.event("single", 4, itemValues{"event": bytesValue(""), "writer_uuid": stringValue(""), "ev_ser_id": numberValue(-7)})
	for i := range int64(3) {
		p.event("atomic", 1+i, member(i))
		p.oldEvent("old", 2+i, member(i))
	}
	p.event("atomic", 4, itemValues{"idx": numberValue(0), "cnt": numberValue(0)})
	p.event("atomic", 5, member(0)) // other members are missing: the write was never complete
	p.oldEvent("old", 1, nil)
	p.event("old", 5, nil)

	// A deletion by this project: tombstones, and a low mark inside an atomic write.
	for seq := int64(1); seq <= 3; seq++ {
		p.journal = append(p.journal, p.keys.EncodeTombstone("cut", seq, soon))
	}
	p.event("cut", 4, member(1))
	p.event("cut", 5, member(2))
	p.mark("SL", "cut", 0, 2, itemValues{
		"low": numberValue(4), "removed": numberValue(4),
		"cut_start": numberValue(3), "cut_cnt": numberValue(2), "cut_writer": stringValue("writer-of-cut"),
	})
	// A deletion by a JVM, which leaves no tombstones, and marks in several shards.
	p.event("deleted", 101, nil)
	p.mark("SL", "deleted", 0, 50, nil)
	p.mark("SL", "deleted", 1, 101, nil)
	p.mark("SH", "deleted", 1, 100, nil)
	// A purge by an earlier version, whose fence expires.
	for seq := int64(1); seq <= 2; seq++ {
		p.event("fenced", seq, nil)
	}
	fenced := p.keys.EncodeTombstone("fenced", 3, soon)
	fenced["low"] = numberValue(3)
	p.journal = append(p.journal, fenced, p.keys.EncodeFence("fence", 2, 2))
	p.event("fence", 1, nil)
	p.event("fence", 3, nil)
	// A number that is closed, one at which nothing is stored, and one that was closed at the end.
	p.event("closed", 1, nil)
	p.journal = append(p.journal, p.keys.EncodeSeal("closed", 2), p.keys.EncodeSeal("closed", 6))
	p.event("closed", 3, nil)
	p.event("closed", 5, nil)
	// Only marks.
	p.mark("SL", "gone", 0, 11, itemValues{"removed": numberValue(11)})
	p.mark("SL", "purged", 0, 8, expires)
	p.mark("SH", "purged", 0, 0, expires)
	p.mark("SL", "again", 0, 8, expires)
	p.event("again", 8, nil)
	// The largest numbers.
	const largest = dynajournal.MaxSequenceNumber
	block := largest / 100
	p.mark("SL", "largest", int(block%10), largest-1, nil)
	p.mark("SH", "largest", int(block%10), block*100, nil)
	p.event("largest", largest-1, nil)
	p.event("largest", largest, nil)
	p.snapshot("largest", largest, nil)

	for seq := int64(1); seq <= 9; seq++ {
		p.event("snapshots", seq, nil)
	}
	p.snapshot("snapshots", 0, nil) // before the first event
	p.snapshot("snapshots", 1, itemValues{"ser_manifest": stringValue("bank.Account"), "pay_data": bytesValue("")})
	p.snapshot("snapshots", 2, itemValues{"ts": numberValue(-1)})
	old, err := p.keys.EncodeEnvelope(&layout.Snapshot{
		PersistenceID: "snapshots", SequenceNr: 3, Timestamp: 7, SerializerID: 20, Manifest: "m", Bytes: []byte("old"),
	})
	if err != nil {
		panic(err) // it is constant
	}
	p.snapshots = append(p.snapshots, old)
	p.snapshot("snapshots", 8, itemValues{"ser_id": numberValue(1_684_668_417), "ser_manifest": stringValue("dynajournal.entity/1"),
		"pay_data": bytesValue("\x28\x00\x05state\x00")})
	p.snapshot("snapshots", 9, itemValues{"ser_id": numberValue(int64(serialization.IDExternal)),
		"pay_data": bytesValue(serialization.ReferencePrefix + `AAAAAAAAAAAAAAAAAAAAAAAAAA"}`)})
	p.event("zero", 1, nil)
	p.snapshot("zero", 0, nil)
	return p, []string{
		"again", "atomic", "closed", "cut", "deleted", "described", "fence", "fenced", "gone", "largest", "old", "purged", "single",
		"snapshots", "zero",
	}
}

// plant puts every item into the tables of a new journal at the default place.
func (p *plantedItems) plant(t *testing.T) {
	t.Helper()
	must(t, "tables", "create", "--shared-with-jvm")
	touch(t, func(c *dynamodb.Client) error {
		for table, items := range map[string][]itemValues{
			dynajournal.DefaultJournalTable: p.journal, dynajournal.DefaultSnapshotTable: p.snapshots,
		} {
			for _, item := range items {
				if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	large := fmt.Sprintf("%q", bytes.Repeat([]byte("state "), 150_000))
	if o := invoke(t.Context(), large, "snapshot", "save", "snapshots", "--seq", "4", "--json", "-"); o.status != statusDone {
		t.Fatal(o.err) // the snapshot is split into several items
	}
}

// Every kind of item is exported, imported and migrated, into each kind of journal.
func TestExport_EveryItemIsImportedAndMigrated(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for kind, create := range map[string][]string{
		"native": {"tables", "create"}, "shared": {"tables", "create", "--shared-with-jvm"},
	} {
		t.Run(kind, func(t *testing.T) {
			if kind == "native" {
				testsize.NeedsLong(t, "the shared journal has more kinds of items")
			}
			clean(t)
			items, pids := everyItem()
			items.plant(t)
			file := filepath.Join(t.TempDir(), "f")
			imported, migrated := []string{"--data", t.TempDir()}, t.TempDir()
			must(t, slices.Concat(create, imported)...)
			must(t, slices.Concat(create, []string{"--data", migrated})...)
			want := must(t, append(append([]string{"export"}, pids...), file)...)[0]
			got := must(t, append([]string{"import", file}, imported...)...)[0]
			for _, key := range []string{"persistence_ids", "events", "snapshots", "checksum"} {
				if got[key] != want[key] || want["persistence_ids"] != float64(len(pids)) {
					t.Errorf("import: %s is %v, want %v of %d persistence ids", key, got[key], want[key], len(pids))
				}
			}
			must(t, append([]string{"import", file}, imported...)...) // again
			args := append([]string{"migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable,
				"--from-snapshot-table", dynajournal.DefaultSnapshotTable, "--to-data", migrated}, pids...)
			for _, flags := range [][]string{nil, {"--verify-only"}, nil} {
				got := must(t, slices.Concat(args, flags)...)[0]
				for _, key := range []string{"persistence_ids", "events", "snapshots"} {
					if got[key] != want[key] {
						t.Errorf("migrate %q: %s is %v, want %v", flags, key, got[key], want[key])
					}
				}
			}
			for _, pid := range pids {
				for _, shown := range [][]string{{"events", pid}, {"snapshots", pid}} {
					want := must(t, shown...)
					for _, there := range [][]string{imported, {"--data", migrated}} {
						if got := must(t, slices.Concat(shown, there)...); !reflect.DeepEqual(got, want) {
							t.Errorf("%q: %v, want %v", shown, got, want)
						}
					}
				}
			}
			again := filepath.Join(t.TempDir(), "again")
			for name, there := range map[string][]string{"imported": imported, "migrated": {"--data", migrated}} {
				if got := must(t, slices.Concat([]string{"export"}, pids, []string{again + name}, there)...)[0]; got["checksum"] != want["checksum"] {
					t.Errorf("%s: the checksum is %v, want %v", name, got["checksum"], want["checksum"])
				}
			}
		})
	}
}

// An atomic write that is larger than the default limits of a program is exported, imported and
// migrated.
func TestExport_AtomicWriteOverTheDefaultLimitIsImportedAndMigrated(t *testing.T) {
	testsize.NeedsLong(t, "it copies a thousand events, and TestExport_EveryItemIsImportedAndMigrated has atomic writes, too")
	clean(t)
	const events = dynajournal.DefaultMaxBatchEvents + 1
	data := t.TempDir()
	engine, err := embedded.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), MaxBatchEvents: events}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := j.Recover(t.Context(), "p", dynajournal.RecoverOptions{}, func(dynajournal.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Append(t.Context(), slices.Repeat([]any{"x"}, events)...)
	if err := errors.Join(err, j.Close(), engine.Close()); err != nil {
		t.Fatal(err)
	}
	file, migrated := filepath.Join(t.TempDir(), "f"), t.TempDir()
	want := must(t, "export", "p", file, "--data", data)[0]
	if want["events"] != float64(events) {
		t.Errorf("%v events were exported, want %d", want["events"], events)
	}
	if got := must(t, "import", file, "--data", t.TempDir())[0]; got["checksum"] != want["checksum"] {
		t.Errorf("imported the checksum %v, want %v", got["checksum"], want["checksum"])
	}
	got := must(t, "migrate", "--from-layout", "current", "--from-table", dynajournal.DefaultJournalTable,
		"--data", data, "--to-data", migrated, "p")[0]
	if got["events"] != float64(events) {
		t.Errorf("%v events were migrated, want %d", got["events"], events)
	}
}

// A bound of 0 means 0 in every command.
func TestFlags_ZeroIsNone(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	items, _ := everyItem()
	items.plant(t)
	for _, line := range []string{
		"events single --to 0", "events single --from 0 --to 0", "events single --max 0", "ids --limit 0",
		"snapshots single --max-seq 0", "snapshot load single --max-seq 0",
	} {
		if got := must(t, strings.Fields(line)...); len(got) > 0 {
			t.Errorf("%s: %v, want nothing", line, got)
		}
	}
	for _, line := range []string{
		"snapshots snapshots --max-seq 0", "snapshot load snapshots --max-seq 0", "snapshot load zero",
		"snapshots snapshots --min-seq 0 --max-seq 0", "snapshot delete snapshots --max-seq 0",
	} {
		if got := numbers(t, must(t, strings.Fields(line)...), "sequence_nr"); !slices.Equal(got, []int64{0}) {
			t.Errorf("%s: %v, want the snapshot at 0 alone", line, got)
		}
	}
	if got := numbers(t, must(t, "snapshots", "snapshots"), "sequence_nr"); !slices.Equal(got, []int64{9, 8, 4, 3, 2, 1}) {
		t.Errorf("%v are left", got)
	}
	for _, line := range []string{"events single --to -1", "ids --limit -1", "snapshots single --max-seq -1"} {
		if o := invoke(t.Context(), "", strings.Fields(line)...); o.status == statusDone {
			t.Errorf("%s: %+v", line, o)
		}
	}
}

// A snapshot with the ids of commands is shown as its state.
func TestSnapshots_WithCommandIDsShowTheirState(t *testing.T) {
	clean(t)
	p := &plantedItems{}
	p.snapshot("a", 8, itemValues{"ser_id": numberValue(1_684_668_417), "ser_manifest": stringValue("dynajournal.entity/1"),
		"pay_data": bytesValue("\x28\x00\x05state\x01" + strings.Repeat("h", 16) + "\x10\x02")})
	p.plant(t)
	for _, args := range [][]string{{"snapshots", "a", "--max-seq", "8"}, {"snapshot", "load", "a"}} {
		got := must(t, args...)[0]
		if got["payload"] != "state" || got["command_ids"] != 1.0 || got["serializer_manifest"] != "dynajournal.entity/1" {
			t.Errorf("%q: %v", args, got)
		}
		o := invoke(t.Context(), "", append(args, "--output", "text")...)
		if !strings.Contains(o.out, `serializer 20  "state"  1 command ids`) {
			t.Errorf("%q: %+v", args, o)
		}
	}
}
