package systemtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// storedDamage is one kind of damage made by hand, with the expected findings.
type storedDamage struct {
	name string
	// only is the kind of journal in which the damage can be made: "native" or "shared". Empty
	// means both.
	only string
	make func(d *damaged)
	want []foundAt
	// left has the findings that a repair with all options leaves or, if option is empty, a repair
	// without options. Nil means none with an option, and otherwise all findings that are not
	// repairable.
	left []foundAt
	// option is the option with which the findings are repaired that a repair without options
	// leaves.
	option dynajournal.RepairOption
	// archived is the number of items that a repair with all options archives.
	archived int
}

func seal() map[string]any { return map[string]any{"idx": 1000000000, "cnt": 1000000000} }

func damages() []storedDamage {
	const (
		missingHighMark = dynajournal.FindingMissingHighMark
		incomplete      = dynajournal.FindingIncompleteBatch
		hole            = dynajournal.FindingHole
		orphan          = dynajournal.FindingOrphanBelowLowMark
		belowJVM        = dynajournal.FindingBelowJVMLowMark
		foreign         = dynajournal.FindingForeignWriter
		undecodable     = dynajournal.FindingUndecodable
		unknown         = dynajournal.FindingUnknownItem
		beyond          = dynajournal.FindingMarkBeyondEvents
		shards          = dynajournal.FindingWrongShards
		snapshotBeyond  = dynajournal.FindingSnapshotBeyondJournal
		snapshotMissing = dynajournal.FindingSnapshotMissing
		damagedSnapshot = dynajournal.FindingDamagedSnapshot
		expired         = dynajournal.FindingExpiredTombstone
		notListed       = dynajournal.FindingNotInIDsIndex
	)
	only := func(kind dynajournal.FindingKind, seq int64) []foundAt { return []foundAt{{kind, seq, false}} }
	return []storedDamage{
		{name: "nothing wrong", make: func(d *damaged) { d.write(120, true); d.write(3, false); d.deleteTo(50) }},
		{name: "a missing high mark", make: func(d *damaged) {
			d.write(105, false)
			d.remove(fmt.Sprintf("journal-SH-a-%d", 1%d.SequenceShards()), 0)
		}, want: []foundAt{{missingHighMark, 100, true}}},
		{name: "99 and 100 rejected by a JVM, their high mark with them", only: "shared", make: func(d *damaged) {
			d.write(98, false)
			for seq := 101; seq < 105; seq++ {
				d.event(seq, "B")
			}
		}, want: []foundAt{{missingHighMark, 100, true}, {hole, 99, false}}},
		{name: "98 to 100 lost, their high mark with them", make: func(d *damaged) {
			d.write(97, false)
			for seq := 101; seq < 105; seq++ {
				d.event(seq, "B")
			}
		}, want: []foundAt{{hole, 98, false}, {missingHighMark, 100, false}}, left: only(hole, 98), option: dynajournal.OptionRestoreHighMark},
		{name: "a batch whose member is missing", make: func(d *damaged) {
			d.write(2, false)
			d.write(5, true)
			d.write(1, false)
			d.remove("journal-P-a-0", 5)
		}, want: []foundAt{{hole, 5, false}, {incomplete, 3, false}}},
		{name: "a batch whose member is sealed", make: func(d *damaged) {
			d.write(2, false)
			d.write(5, true)
			d.write(1, false)
			d.remove("journal-P-a-0", 5)
			if _, err := d.Recover(d.t.Context(), "a", dynajournal.RecoverOptions{SkipMissing: true}, nil); err != nil {
				d.t.Fatal(err)
			}
		}, want: only(incomplete, 3), option: dynajournal.OptionRemoveIncomplete, archived: 4},
		{name: "batches at whose members' numbers others have written", only: "shared", make: func(d *damaged) {
			d.event(1, "A", 0, 3) // of 1 to 4 there are 1 and 2
			d.event(2, "A", 1, 3)
			d.event(3, "B")
			d.event(4, "B")
			d.event(5, "C", 1, 2) // of 4 to 6 there is 5
			d.event(6, "D")
		}, want: []foundAt{{incomplete, 1, false}, {incomplete, 4, false}}, option: dynajournal.OptionRemoveIncomplete, archived: 3},
		{name: "a batch in whose middle a JVM has written", only: "shared", make: func(d *damaged) {
			d.write(4, true)
			d.event(2, "B")
		}, want: []foundAt{{foreign, 3, false}, {incomplete, 1, false}}, option: dynajournal.OptionRemoveIncomplete, archived: 3},
		{name: "a batch that was refused as another has written in its middle", only: "native", make: func(d *damaged) {
			d.write(4, true)
			d.event(2, "B")
		}, want: only(incomplete, 1), option: dynajournal.OptionRemoveIncomplete, archived: 3},
		{name: "a writer that continues after another", make: func(d *damaged) {
			d.write(1, false)
			d.event(2, "A")
			d.event(3, "B")
			d.event(4, "A", 0, 1)
			d.event(5, "A", 1, 1)
		}, want: only(foreign, 4)},
		{name: "a batch that is still on its way", make: func(d *damaged) {
			d.write(1, false)
			d.event(2, "A", 0, 3)
			d.event(3, "A", 1, 3)
			d.event(5, "A", 3, 3)
		}, want: []foundAt{{hole, 4, false}, {incomplete, 2, false}}},
		{name: "a high mark whose event was not put", make: func(d *damaged) {
			d.write(99, false)
			d.highMark(100)
		}, want: only(beyond, 100)},
		{name: "a batch of which a member can't be read", make: func(d *damaged) {
			d.write(4, true)
			d.put("journal-P-a-0", 2, map[string]any{"event": "no bytes"})
		}, want: []foundAt{{undecodable, 2, false}, {incomplete, 1, false}}},
		{name: "a hole", only: "shared", make: func(d *damaged) { d.write(6, false); d.remove("journal-P-a-0", 3) }, want: only(hole, 3)},
		{name: "a lost item", only: "native", make: func(d *damaged) { d.write(6, false); d.remove("journal-P-a-0", 3) }, want: only(hole, 3),
			option: dynajournal.OptionSealMissing},
		{name: "a tombstone above the low mark", make: func(d *damaged) {
			d.write(6, false)
			d.put("journal-P-a-0", 7, map[string]any{"idx": 1000000000, "cnt": 1000000000, "expires": 4000000000})
		}, want: only(hole, 7)},
		{name: "a fence whose low mark was not put", make: func(d *damaged) {
			d.write(6, false)
			d.put("journal-P-a-0", 7, map[string]any{"idx": 1000000000, "cnt": 1000000000, "low": 20})
		}, want: only(hole, 7)},
		{name: "a deleted event that is still there", make: func(d *damaged) { d.write(6, false); d.deleteTo(4); d.event(2, "w") },
			want: only(orphan, 2), option: dynajournal.OptionRemoveOrphans, archived: 1},
		{name: "what a deletion that was cut short has not removed", only: "native", make: func(d *damaged) {
			d.write(6, false)
			d.lowMark(4, map[string]any{"removed": 2})
		}, want: []foundAt{{orphan, 1, false}, {orphan, 2, false}, {orphan, 3, false}}, option: dynajournal.OptionRemoveOrphans, archived: 3},
		{name: "what a deletion by an earlier version left", only: "shared", make: func(d *damaged) {
			d.write(5, false)
			d.deleteTo(5)
			d.lowMark(6, map[string]any{"removed": 6})
		}, want: only(belowJVM, 1), option: dynajournal.OptionRemoveDeleted, archived: 5},
		{name: "what a deletion by an earlier version left, in a later block", only: "shared", make: func(d *damaged) {
			d.write(105, false)
			d.deleteTo(103)
			d.lowMark(104, map[string]any{"removed": 104})
		}, want: only(belowJVM, 100), option: dynajournal.OptionRemoveDeleted, archived: 4},
		{name: "a low mark that is wrong", only: "native", make: func(d *damaged) { d.write(3, false); d.lowMark(50, map[string]any{"removed": 50}) },
			want: []foundAt{{orphan, 1, false}, {orphan, 2, false}, {orphan, 3, false}}, option: dynajournal.OptionRemoveOrphans, archived: 3},
		{name: "parts of a dead batch that a snapshot newer than the journal has hidden", only: "native", make: func(d *damaged) {
			d.write(2, false)
			d.deleteTo(2)
			d.event(4, "w", 1, 3) // of 3 to 6
			d.event(5, "w", 2, 3)
			loseJournal(d.t, d.Journal, "a", 50)
		}, want: []foundAt{{orphan, 4, false}, {orphan, 5, false}}, option: dynajournal.OptionRemoveOrphans, archived: 2},
		{name: "a writer that continues after another with a single event", make: func(d *damaged) {
			d.write(1, false)
			d.event(2, "A")
			d.event(3, "B")
			d.event(4, "A")
		}, want: only(foreign, 4)},
		{name: "an item that can't be read", make: func(d *damaged) { d.write(3, false); d.put("journal-P-a-0", 2, map[string]any{"event": "no bytes"}) },
			want: only(undecodable, 2)},
		{name: "the last item can't be read", make: func(d *damaged) { d.write(103, false); d.put("journal-P-a-1", 3, map[string]any{"event": "no bytes"}) },
			want: only(undecodable, 103)},
		{name: "an item whose seq contradicts its key", make: func(d *damaged) {
			d.write(3, false)
			d.put("journal-P-a-0", 2, map[string]any{"persistence_id": "a", "seq": 9, "event": []byte("x"), "writer_uuid": "w", "ev_ser_id": 20})
		}, want: only(undecodable, 2)},
		{name: "a number between two", make: func(d *damaged) { d.write(3, false); d.fraction() }, want: only(undecodable, 2)},
		{name: "a mark that can't be read", make: func(d *damaged) {
			d.write(3, false)
			d.put("journal-SL-a-0", 0, map[string]any{"seq": "three"})
		}, want: only(undecodable, 0)},
		{name: "broken JSON, plain and compressed", make: func(d *damaged) {
			d.write(1, false)
			d.payload(2, 31, "com.example.Deposited", []byte(`{"amount":5}`))
			d.payload(3, 31, "com.example.Deposited", []byte(`{"amount":`))
			d.payload(4, 31, "com.example.Deposited", gzipped(d.t, `{"amount":5}`))
			d.payload(5, 31, "com.example.Deposited", gzipped(d.t, `{"amount"`))
			d.payload(6, 31, "com.example.Deposited", gzipped(d.t, `{"amount":5}`)[:20])
		}, want: []foundAt{{undecodable, 3, false}, {undecodable, 5, false}, {undecodable, 6, false}}},
		{name: "broken CBOR and protobuf", make: func(d *damaged) {
			d.write(1, false)
			d.payload(2, 33, "com.example.Deposited", []byte{0xa1, 0x61, 'a', 0x05})
			d.payload(3, 33, "com.example.Deposited", []byte{0xa1, 0x61, 'a'})
			d.payload(4, 2, "com.example.Proto", []byte{0x08, 0x05})
			d.payload(5, 2, "com.example.Proto", []byte{0x08})
		}, want: []foundAt{{undecodable, 3, false}, {undecodable, 5, false}}},
		{name: "an item that is no event and closes nothing", make: func(d *damaged) {
			d.write(3, false)
			d.put("journal-P-a-0", 2, map[string]any{"seq": 2})
		}, want: only(unknown, 2)},
		{name: "an item without anything", make: func(d *damaged) { d.write(3, false); d.put("journal-P-a-0", 4, nil) }, want: only(unknown, 4)},
		{name: "an item outside its partition", make: func(d *damaged) {
			d.write(3, false)
			d.put("journal-P-a-0", 150, map[string]any{"persistence_id": "a", "seq": 150, "event": []byte("x"), "writer_uuid": "w", "ev_ser_id": 20})
		}, want: only(unknown, 0)},
		{name: "an item at number 0", make: func(d *damaged) { d.write(3, false); d.put("journal-P-a-0", 0, seal()) }, want: only(unknown, 0)},
		{name: "a high mark beyond the events", make: func(d *damaged) { d.write(3, false); d.highMark(700) }, want: only(beyond, 700)},
		{name: "a mark of another number of shards in one that counts", only: "shared", make: func(d *damaged) {
			d.write(3, false)
			d.put("journal-SH-a-3", 0, map[string]any{"seq": 400})
		}, want: []foundAt{{shards, 400, false}, {beyond, 400, false}}},
		{name: "a mark of another number of shards", only: "native", make: func(d *damaged) { d.write(3, false); d.put("journal-SH-a-3", 0, map[string]any{"seq": 400}) },
			want: only(shards, 400)},
		{name: "a low mark of another number of shards, and orphans", only: "native", make: func(d *damaged) {
			d.write(3, false)
			d.deleteTo(2)
			d.event(1, "w")
			d.put("journal-SL-a-3", 0, map[string]any{"seq": 400})
		}, want: []foundAt{{shards, 400, false}, {orphan, 1, false}}},
		{name: "a snapshot beyond the journal", make: func(d *damaged) { d.write(3, false); d.saveSnapshot(9, 1) }, want: only(snapshotBeyond, 9)},
		{name: "a snapshot that was lost after events were deleted", make: func(d *damaged) {
			d.write(5, false)
			d.saveSnapshot(2, 1)
			d.deleteCovered(4)
		}, want: only(snapshotMissing, 4)},
		{name: "a snapshot that has lost a part", make: func(d *damaged) {
			d.write(3, false)
			d.saveSnapshot(1, 1)
			d.removeSnapshotItem(d.saveSnapshot(3, 1<<20)[3])
		}, want: only(damagedSnapshot, 3)},
		{name: "a snapshot that can't be decoded", make: func(d *damaged) {
			d.write(3, false)
			d.putSnapshot(3, map[string]any{"ts": 1, "pay_data": []byte(`{"a`), "ser_id": 31, "ser_manifest": "com.example.State"})
		}, want: only(damagedSnapshot, 3)},
		{name: "a snapshot's item that can't be read", make: func(d *damaged) { d.write(3, false); d.putSnapshot(2, map[string]any{"ts": 1, "pay_data": "text"}) },
			want: only(damagedSnapshot, 2)},
		{name: "an expired tombstone where TTL is off", make: func(d *damaged) {
			d.noTTL()
			d.write(3, false)
			d.deleteTo(2)
			d.put("journal-P-a-0", 1, map[string]any{"idx": 1000000000, "cnt": 1000000000, "expires": 1})
		}, want: []foundAt{{expired, 1, true}}},
		{name: "an expired tombstone where TTL is on", make: func(d *damaged) {
			d.write(3, false)
			d.deleteTo(2)
			d.put("journal-P-a-0", 1, map[string]any{"idx": 1000000000, "cnt": 1000000000, "expires": 1})
		}},
		{name: "an id that the index does not list", only: "native", make: func(d *damaged) { d.event(1, "w"); d.event(2, "w") },
			want: []foundAt{{notListed, 1, true}}},
		{name: "an id that the index does not list, without its first event", only: "native", make: func(d *damaged) { d.event(2, "w") },
			want: []foundAt{{hole, 1, false}, {notListed, 1, true}}, left: []foundAt{}},
		{name: "an id that the index does not list, with a low mark", only: "native", make: func(d *damaged) {
			d.write(3, false)
			d.deleteTo(2)
			d.put("journal-SL-a-0", 0, map[string]any{"seq": 3, "removed": 3})
		}, want: []foundAt{{notListed, 1, true}}},
		{name: "a shared journal has no index of ours", only: "shared", make: func(d *damaged) { d.event(1, "w"); d.event(2, "w") }},
	}
}

// behaviour is the observed behavior of one kind of finding.
type behaviour struct {
	unasked, archived, readerFails bool
	options                        map[string]bool
	severities                     string // the lowest first
}

type behaviours map[dynajournal.FindingKind]*behaviour

func (b behaviours) of(kind dynajournal.FindingKind) *behaviour {
	if b[kind] == nil {
		b[kind] = &behaviour{options: map[string]bool{}}
	}
	return b[kind]
}

// add records a severity, each once.
func (b *behaviour) add(seen dynajournal.Severity) {
	var all []string
	for _, s := range dynajournal.Severities() {
		if s == seen || strings.Contains(b.severities, string(s)) {
			all = append(all, string(s))
		}
	}
	b.severities = strings.Join(all, ", ")
}

// Each kind of damage is made by hand, in native and shared journals, with events of the current
// form and of Akka 1.1's form. The behavior of verify, of a repair without options and of a repair
// with all options must match the table of docs/operations.md.
func TestDamageIsFoundAndRepairedAsInTheTable(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	seen := behaviours{}
	for kind, options := range kinds {
		for form, enveloped := range map[string]bool{"split": false, "enveloped": true} {
			for i, tt := range damages() {
				if tt.only != "" && tt.only != kind {
					continue
				}
				if !testsize.Long && (enveloped != options.SharedWithJVM || tt.only == "" && enveloped == (i%2 == 0)) {
					continue // the short test makes each damage in one kind of journal, in one form
				}
				t.Run(kind+", "+form+": "+tt.name, func(t *testing.T) { checkDamage(t, openDamaged(t, options, enveloped), &tt, seen) })
			}
		}
	}
	rows := findingRows(t)
	for kind, b := range seen {
		row, ok := rows[kind]
		if !ok {
			t.Errorf("docs/operations.md has no row of %s", kind)
			continue
		}
		flags := map[string]bool{}
		for _, m := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(row.flag, -1) {
			flags[m[1]] = true
		}
		want := behaviour{row.unasked != "—", row.archived != "—", strings.Contains(row.reader, "ErrCorruptItem"), flags, row.severities}
		if b.severities != want.severities || b.unasked != want.unasked || b.archived != want.archived || b.readerFails != want.readerFails || !maps.Equal(b.options, want.options) {
			t.Errorf("%s: docs/operations.md says %+v, seen was %+v", kind, want, *b)
		}
		delete(rows, kind)
	}
	for kind := range rows {
		t.Errorf("no damage makes %s, which docs/operations.md has", kind)
	}
}

// findingRow is a row of the table of findings.
type findingRow struct{ severities, reader, unasked, flag, archived string }

func findingRows(t *testing.T) map[dynajournal.FindingKind]findingRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Verify and repair\n")
	rows := map[dynajournal.FindingKind]findingRow{}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		kind, ok := strings.CutPrefix(strings.TrimSpace(cells[0]), "`")
		if !ok || len(cells) != 7 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[dynajournal.FindingKind(strings.TrimSuffix(kind, "`"))] = findingRow{cells[1], cells[3], cells[4], cells[5], cells[6]}
	}
	return rows
}

func checkDamage(t *testing.T, d *damaged, tt *storedDamage, seen behaviours) {
	t.Helper()
	tt.make(d)
	before := d.seen()
	fails := strings.Contains(before, dynajournal.ErrCorruptItem.Error())
	if _, _, err := d.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{}); errors.Is(err, dynajournal.ErrCorruptItem) {
		fails = true
	}
	for _, f := range tt.want {
		b := seen.of(f.kind)
		b.readerFails = b.readerFails || fails && (f.kind == dynajournal.FindingUndecodable || f.kind == dynajournal.FindingDamagedSnapshot)
	}
	if got := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); !slices.Equal(got, tt.want) {
		t.Fatalf("found %v, want %v", got, tt.want)
	}
	for f := range d.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
		seen.of(f.Kind).add(f.Severity)
	}
	stored := d.items()
	if dry := collect(t, d.Repair(t.Context(), "a", dynajournal.VerifyOptions{DryRun: true})); !slices.Equal(dry, tt.want) {
		t.Errorf("a dry run found %v, want %v", dry, tt.want)
	}
	if !reflectEqual(stored, d.items()) {
		t.Error("a dry run changed something")
	}
	for f, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{}) {
		if err != nil || f.Repaired != f.Repairable {
			t.Errorf("repair: %+v, %v", f, err)
		}
		if f.Repaired {
			seen.of(f.Kind).unasked = true
		}
	}
	for key, item := range stored {
		if (item["event"] != nil || item["pay"] != nil) && attributeText(d.items()[key]["writer_uuid"]) != attributeText(item["writer_uuid"]) {
			t.Errorf("unasked the repair removed the event at %s", key)
		}
	}
	unasked := slices.DeleteFunc(slices.Clone(tt.want), func(f foundAt) bool { return f.repairable })
	if tt.left != nil && tt.option == "" {
		unasked = tt.left
	}
	if left := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); !slices.Equal(left, unasked) {
		t.Errorf("after the repair: found %v, want %v", left, unasked)
	}
	if after := d.seen(); after != before {
		t.Errorf("events before the repair:\n%s\nafter it:\n%s", before, after)
	}
	checkRepairByOptions(t, d, tt, seen)
}

func checkRepairByOptions(t *testing.T, d *damaged, tt *storedDamage, seen behaviours) {
	t.Helper()
	before, stored := d.seen(), d.items()
	archived := 0
	all := dynajournal.VerifyOptions{RemoveOrphans: true, RemoveDeleted: true, RemoveIncomplete: true, RestoreHighMark: true, Archive: func(r dynajournal.RemovedItem) error {
		archived++
		seen.of(r.Kind).archived = true
		if !strings.Contains(string(r.Item), `"N"`) || r.Table != dynajournal.DefaultJournalTable {
			t.Errorf("archived: %+v", r)
		}
		return nil
	}}
	all.SealMissing = tt.option == dynajournal.OptionSealMissing
	for f, err := range d.Repair(t.Context(), "a", all) {
		if err != nil || f.Repaired != f.Repairable {
			t.Errorf("repair by options: %+v, %v", f, err)
		}
		if f.Repaired {
			if f.Option == "" { // uncovered by a repair with an option
				continue
			}
			if f.Option != tt.option {
				t.Errorf("repaired by option %q, want %q: %+v", f.Option, tt.option, f)
			}
			seen.of(f.Kind).options[string(f.Option)] = true
		}
	}
	if archived != tt.archived {
		t.Errorf("archived %d items, want %d", archived, tt.archived)
	}
	left := tt.left
	if left == nil && tt.option == "" {
		left = slices.DeleteFunc(slices.Clone(tt.want), func(f foundAt) bool { return f.repairable })
	}
	if got := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); !slices.Equal(got, left) {
		t.Errorf("after the repair by options: found %v, want %v", got, left)
	}
	if tt.option == "" && !reflectEqual(stored, d.items()) {
		t.Error("options changed something that they do not concern")
	}
	if after := d.seen(); (after != before) != (tt.option == dynajournal.OptionRestoreHighMark) {
		t.Errorf("events before the repair by options:\n%s\nafter it:\n%s", before, after)
	}
}

func reflectEqual(a, b map[string]map[string]types.AttributeValue) bool {
	return fmt.Sprint(describeItems(a)) == fmt.Sprint(describeItems(b))
}

// describeItems returns items as text, in the order of their keys.
func describeItems(items map[string]map[string]types.AttributeValue) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(items)) {
		line := key
		for _, name := range slices.Sorted(maps.Keys(items[key])) {
			line += fmt.Sprintf(" %s=%v", name, attributeText(items[key][name]))
		}
		all = append(all, line)
	}
	return all
}

func attributeText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%x", v.Value)
	}
	return fmt.Sprintf("%T", v)
}

// A JVM has used a native journal, and deleted the first events of an atomic write. Its low mark
// does not mention the rest, which counts because the last member is stored. A repair uses that
// mark to add the id to the index, and leaves the mark's other content unchanged.
func TestRepairKeepsTheRestOfABatchThatAJVMCut(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(4, true)
	d.lowMark(4, nil)
	for seq := 1; seq < 4; seq++ {
		d.remove("journal-P-a-0", seq)
	}
	before := d.seen()
	if !strings.HasPrefix(before, "4 ") {
		t.Fatalf("before: %q", before)
	}
	all := dynajournal.VerifyOptions{RemoveOrphans: true, RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
	for i, opts := range []dynajournal.VerifyOptions{{}, {}, all} {
		got := collect(t, d.Repair(t.Context(), "a", opts))
		if want := []foundAt{{dynajournal.FindingNotInIDsIndex, 1, true}}; i == 0 && !slices.Equal(got, want) || i > 0 && len(got) > 0 {
			t.Errorf("repair %d found %v", i+1, got)
		}
		if after := d.seen(); after != before {
			t.Errorf("after repair %d: %q, before %q", i+1, after, before)
		}
	}
	recoverWriter(t, d.Journal, "a", 0)
	if after := d.seen(); after != before {
		t.Errorf("after a recovery: %q, before %q", after, before)
	}
}

// Damage that a repair uncovers is found by the same run: the first number is sealed to add the id
// to the index, so the atomic write that began there can no longer become complete.
func TestOneRunOfRepairIsEnough(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	for seq := 2; seq < 5; seq++ {
		d.event(seq, "A", seq-1, 3)
	}
	opts := dynajournal.VerifyOptions{RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
	got := collect(t, d.Repair(t.Context(), "a", opts))
	want := []foundAt{{dynajournal.FindingNotInIDsIndex, 1, true}, {dynajournal.FindingIncompleteBatch, 1, true}}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if left := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRepairThatRemovesNeedsAnArchive(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(6, false)
	d.deleteTo(4)
	d.event(2, "w")
	stored := d.items()
	for _, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{RemoveOrphans: true}) {
		if !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("without an archive: %v, want ErrInvalidArgument", err)
		}
	}
	full := errors.New("no space left")
	var got error
	for _, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{RemoveOrphans: true, Archive: func(dynajournal.RemovedItem) error { return full }}) {
		got = err
	}
	if !errors.Is(got, full) || !reflectEqual(stored, d.items()) {
		t.Errorf("where the archive fails: %v, want that and nothing changed", got)
	}
	// An item that has changed since the check is not removed.
	for _, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{RemoveOrphans: true, Archive: func(dynajournal.RemovedItem) error {
		d.event(2, "another")
		return nil
	}}) {
		got = err
	}
	if items := d.items(); attributeText(items["journal-P-a-0 2"]["writer_uuid"]) != "another" {
		t.Errorf("an item that changed since it was judged is %v, error %v", items["journal-P-a-0 2"], got)
	}
}
