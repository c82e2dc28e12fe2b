package dynajournal_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// damaged is a journal whose table the test can touch behind its back.
type damaged struct {
	*dynajournal.Journal
	t      *testing.T
	table  *dynamodb.Client
	clock  *time.Time
	config dynajournal.Config
}

func openDamaged(t *testing.T, opts dynajournal.TableOptions, enveloped bool) *damaged {
	t.Helper()
	now := new(time.Now())
	engine, err := embedded.OpenMemory(embedded.WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), EventEnvelope: enveloped}
	if err := dynajournal.CreateTables(t.Context(), config, opts); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = j.Close()
		_ = engine.Close()
	})
	return &damaged{j, t, dynamodb.NewFromConfig(engine.AWSConfig()), now, config}
}

func eventKey(par string, num int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: par},
		"num": &types.AttributeValueMemberN{Value: strconv.Itoa(num)},
	}
}

func (d *damaged) remove(par string, num int) {
	d.t.Helper()
	if _, err := d.table.DeleteItem(d.t.Context(), &dynamodb.DeleteItemInput{TableName: new(dynajournal.DefaultJournalTable), Key: eventKey(par, num)}); err != nil {
		d.t.Fatal(err)
	}
}

// put puts an item of strings and numbers beside its key.
func (d *damaged) put(par string, num int, attributes map[string]any) {
	d.t.Helper()
	item := eventKey(par, num)
	for name, v := range attributes {
		switch v := v.(type) {
		case string:
			item[name] = &types.AttributeValueMemberS{Value: v}
		case int:
			item[name] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
		case []byte:
			item[name] = &types.AttributeValueMemberB{Value: v}
		}
	}
	if _, err := d.table.PutItem(d.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item}); err != nil {
		d.t.Fatal(err)
	}
}

// event puts an event of "a" as another writer would.
func (d *damaged) event(seq int, writer string, batch ...int) {
	d.t.Helper()
	attributes := map[string]any{"persistence_id": "a", "seq": seq, "event": []byte("x"), "writer_uuid": writer, "ev_ser_id": 20}
	if len(batch) == 2 {
		attributes["idx"], attributes["cnt"] = batch[0], batch[1]
	}
	d.put(fmt.Sprintf("journal-P-a-%d", seq/100), seq%100, attributes)
}

func (d *damaged) write(n int, atomic bool) {
	d.t.Helper()
	appendStrings(d.t, recoverWriter(d.t, d.Journal, "a", 0), n, atomic)
}

func (d *damaged) deleteTo(seq int64) {
	d.t.Helper()
	if _, err := recoverWriter(d.t, d.Journal, "a", 0).DeleteTo(d.t.Context(), seq); err != nil {
		d.t.Fatal(err)
	}
}

type foundAt struct {
	kind       dynajournal.FindingKind
	seq        int64
	repairable bool
}

func collect(t *testing.T, findings func(yield func(dynajournal.Finding, error) bool)) []foundAt {
	t.Helper()
	var all []foundAt
	for f, err := range findings {
		if err != nil {
			t.Fatal(err)
		}
		if f.Detail == "" || f.PersistenceID != "a" {
			t.Errorf("finding without detail or of another id: %+v", f)
		}
		all = append(all, foundAt{f.Kind, f.SequenceNumber, f.Repairable})
	}
	return all
}

func TestVerifyNamesEveryDamageAndRepairMendsWhatItSays(t *testing.T) {
	for form, enveloped := range map[string]bool{"split": false, "enveloped": true} {
		t.Run(form, func(t *testing.T) { checkRepairs(t, enveloped) })
	}
}

func checkRepairs(t *testing.T, enveloped bool) {
	t.Helper()
	for _, tt := range []struct {
		name   string
		shared bool
		damage func(d *damaged)
		want   []foundAt
	}{
		{"nothing wrong", false, func(d *damaged) { d.write(120, true); d.write(3, false); d.deleteTo(50) }, nil},
		{"a missing high mark", false, func(d *damaged) { d.write(105, false); d.remove("journal-SH-a-0", 0) },
			[]foundAt{{dynajournal.FindingMissingHighMark, 100, true}}},
		{"a batch whose member is missing", false, func(d *damaged) { d.write(2, false); d.write(5, true); d.write(1, false); d.remove("journal-P-a-0", 5) },
			[]foundAt{{dynajournal.FindingIncompleteBatch, 3, false}, {dynajournal.FindingHole, 5, false}, {dynajournal.FindingIncompleteBatch, 3, false}}},
		{"a batch whose member is sealed", false, func(d *damaged) {
			d.write(2, false)
			d.write(5, true)
			d.write(1, false)
			d.remove("journal-P-a-0", 5)
			recoverWriter(d.t, d.Journal, "a", 0)
		}, []foundAt{{dynajournal.FindingIncompleteBatch, 3, true}}},
		{"batches at whose members' numbers another has written", true, func(d *damaged) {
			d.event(1, "A", 0, 3) // of 1 to 4 there are 1 and 2
			d.event(2, "A", 1, 3)
			d.event(3, "B")
			d.event(4, "B")
			d.event(5, "C", 1, 2) // of 4 to 6 there is 5
			d.event(6, "D")
		}, []foundAt{
			{dynajournal.FindingIncompleteBatch, 1, true}, {dynajournal.FindingIncompleteBatch, 4, true},
		}},
		{"a batch that is still on its way", true, func(d *damaged) { d.event(1, "A", 0, 3); d.event(2, "A", 1, 3); d.event(4, "A", 3, 3) },
			[]foundAt{{dynajournal.FindingIncompleteBatch, 1, false}, {dynajournal.FindingHole, 3, false}, {dynajournal.FindingIncompleteBatch, 1, false}}},
		{"a hole", false, func(d *damaged) { d.write(6, false); d.remove("journal-P-a-0", 3) },
			[]foundAt{{dynajournal.FindingHole, 3, false}}},
		{"a deleted event that is still there", false, func(d *damaged) { d.write(6, false); d.deleteTo(4); d.event(2, "w") },
			[]foundAt{{dynajournal.FindingOrphanBelowLowMark, 2, true}}},
		{"parts of a dead batch that a snapshot newer than the journal has hidden", false, func(d *damaged) {
			d.write(2, false)
			d.deleteTo(2)
			d.event(4, "w", 1, 3) // of 3 to 6
			d.event(5, "w", 2, 3)
			recoverWriter(d.t, d.Journal, "a", 50)
		}, []foundAt{{dynajournal.FindingOrphanBelowLowMark, 4, true}, {dynajournal.FindingOrphanBelowLowMark, 5, true}}},
		{"a writer that goes on after another", false, func(d *damaged) { d.event(1, "A"); d.event(2, "B"); d.event(3, "A"); enterA(d) },
			[]foundAt{{dynajournal.FindingForeignWriter, 3, false}}},
		{"an item that can't be read", false, func(d *damaged) {
			d.write(3, false)
			d.put("journal-P-a-0", 2, map[string]any{"event": "no bytes"})
		}, []foundAt{{dynajournal.FindingUndecodable, 2, false}}},
		{"a high mark beyond the events", false, func(d *damaged) { d.write(3, false); d.put("journal-SH-a-0", 0, map[string]any{"seq": 700}) },
			[]foundAt{{dynajournal.FindingMarkBeyondEvents, 700, false}}},
		{"a mark of another number of shards", false, func(d *damaged) { d.write(3, false); d.put("journal-SH-a-4", 0, map[string]any{"seq": 400}) },
			[]foundAt{{dynajournal.FindingWrongShards, 400, false}}},
		{"a snapshot beyond the journal", false, func(d *damaged) {
			d.write(3, false)
			if _, err := d.SaveSnapshot(d.t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 9}, "s"); err != nil {
				d.t.Fatal(err)
			}
		}, []foundAt{{dynajournal.FindingSnapshotBeyondJournal, 9, false}}},
		{"an id that the index does not list", false, func(d *damaged) { d.event(1, "w"); d.event(2, "w") },
			[]foundAt{{dynajournal.FindingNotInIDsIndex, 1, true}}},
		{"an id that the index does not list, with a low mark", false, func(d *damaged) {
			d.write(3, false)
			d.deleteTo(2)
			d.put("journal-SL-a-0", 0, map[string]any{"seq": 3, "removed": 3})
		}, []foundAt{{dynajournal.FindingNotInIDsIndex, 1, true}}},
		{"a shared journal has no index of ours", true, func(d *damaged) { d.event(1, "w"); d.event(2, "w") }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: tt.shared}, enveloped)
			tt.damage(d)
			var before []int64
			for e, err := range d.Events(t.Context(), "a", dynajournal.Range{}) {
				if err == nil {
					before = append(before, e.SequenceNumber)
				}
			}
			want := tt.want
			got := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{}))
			if !slices.Equal(got, want) {
				t.Fatalf("found %v, want %v", got, want)
			}
			if dry := collect(t, d.Repair(t.Context(), "a", dynajournal.VerifyOptions{DryRun: true})); !slices.Equal(dry, want) {
				t.Errorf("a dry run found %v, want %v", dry, want)
			}
			for f, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{}) {
				if err != nil || f.Repaired != f.Repairable {
					t.Errorf("repair: %+v, %v", f, err)
				}
			}
			want = slices.DeleteFunc(slices.Clone(want), func(f foundAt) bool { return f.repairable })
			if left := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); !slices.Equal(left, want) {
				t.Errorf("after the repair: found %v, want %v", left, want)
			}
			var after []int64
			for e, err := range d.Events(t.Context(), "a", dynajournal.Range{}) {
				if err == nil {
					after = append(after, e.SequenceNumber)
				}
			}
			if !slices.Equal(before, after) {
				t.Errorf("events before the repair %v, after it %v", before, after)
			}
		})
	}
}

// enterA makes the ids index list "a", whose events were put by hand.
func enterA(d *damaged) {
	d.t.Helper()
	for _, err := range d.Repair(d.t.Context(), "a", dynajournal.VerifyOptions{}) {
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestVerifyFindsExpiredTombstonesOnlyWhereTTLIsOff(t *testing.T) {
	for _, ttl := range []bool{true, false} {
		t.Run(fmt.Sprintf("ttl %t", ttl), func(t *testing.T) {
			d := openDamaged(t, dynajournal.TableOptions{}, false)
			if !ttl {
				off := &dynamodb.UpdateTimeToLiveInput{
					TableName:               new(dynajournal.DefaultJournalTable),
					TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("expires"), Enabled: new(false)},
				}
				if _, err := d.table.UpdateTimeToLive(t.Context(), off); err != nil {
					t.Fatal(err)
				}
			}
			d.write(3, false)
			d.deleteTo(2)
			d.put("journal-P-a-0", 1, map[string]any{"idx": 1000000000, "cnt": 1000000000, "expires": 1})
			want := []foundAt{{dynajournal.FindingExpiredTombstone, 1, true}}
			if ttl {
				want = nil
			}
			if got := collect(t, d.Repair(t.Context(), "a", dynajournal.VerifyOptions{})); !slices.Equal(got, want) {
				t.Fatalf("found %v, want %v", got, want)
			}
			if got := collect(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{})); len(got) != 0 {
				t.Errorf("after the repair: found %v", got)
			}
		})
	}
}

func TestVerifyAllChecksEveryID(t *testing.T) {
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	for i := range 30 {
		appendStrings(t, recoverWriter(t, d.Journal, fmt.Sprintf("id-%d", i), 0), 3, false)
	}
	d.write(105, false)
	d.remove("journal-SH-a-0", 0)
	checked := 0
	got := collect(t, d.VerifyAll(t.Context(), dynajournal.VerifyOptions{Parallelism: 4, Progress: func(string) { checked++ }}))
	if want := []foundAt{{dynajournal.FindingMissingHighMark, 100, true}}; !slices.Equal(got, want) || checked != 31 {
		t.Errorf("found %v in %d ids, want %v in 31", got, checked, want)
	}
	for _, err := range d.VerifyAll(t.Context(), dynajournal.VerifyOptions{Parallelism: 4}) {
		if err != nil {
			t.Error(err)
		}
		break // a loop that is left ends the checking
	}
}
