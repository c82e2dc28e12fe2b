package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// leavePurged purges a persistence id of n events. When the fence window is over, time to live has
// removed the low mark and the items of the first partition, and nothing else yet.
func (w *world) leavePurged(j *dynajournal.Journal, n int) {
	w.Helper()
	w.fill(w.recovered(j), n)
	purge(w, j)
	time.Sleep(afterExpiry)
	w.remove("journal-SL-"+pid+"-0", 0)
	for number := range 100 {
		w.remove("journal-P-"+pid+"-0", number)
	}
}

// appendEach writes events one by one, and recovers after a conflict, as a host does.
func (w *world) appendEach(j *dynajournal.Journal, events ...string) {
	w.Helper()
	r := w.recovered(j)
	for i := 0; i < len(events); {
		switch err := appendTo(w.Context(), r, events[i]); {
		case err == nil:
			i++
		case errors.Is(err, dynajournal.ErrWriterConflict):
			r = w.recovered(j)
		default:
			w.Fatal(err)
		}
	}
}

// A purged persistence id is in use again, and grows to tombstones that are left from before. They
// do not hide the new events, and their numbers are free.
func TestTombstonesThatAreLeftHideNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.leavePurged(j, 250)
		events := make([]string, 260)
		for i := range events {
			events[i] = fmt.Sprint("new ", i+1)
		}
		w.appendEach(j, events...)
		w.wantVisible(j, 1, events...)
		if again := w.recovered(j); !slices.Equal(again.seen, events) {
			w.Errorf("a recovery is given %d events, %d were acknowledged", len(again.seen), len(events))
		}
		w.pass(afterExpiry)
		w.wantVisible(j, 1, events...)
		l, err := j.List(w.Context(), pid)
		if err != nil || len(l.SequenceNumbers) != len(events) || len(l.Tombstones) > 0 || !slices.Equal(l.HighMarks, []int64{200}) {
			w.Errorf("there are %d events, the tombstones %v and the high marks %v (%v)",
				len(l.SequenceNumbers), l.Tombstones, l.HighMarks, err)
		}
	})
}

// What is left of a purge leads no reader and no recovery on.
func TestWhatIsLeftOfAPurgeTakesNoNumber(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.leavePurged(j, 250)
		if b, err := j.Bounds(w.Context(), pid); err != nil || b != (dynajournal.Bounds{}) {
			w.Errorf("the bounds are %+v (%v), want none", b, err)
		}
		for _, opts := range []dynajournal.RecoverOptions{{}, {Latest: true}} {
			r, err := recoverIt(w.Context(), j, opts)
			if err != nil {
				w.Fatal(err)
			}
			if next, err := r.NextSequenceNumber(w.Context()); err != nil || next != 1 {
				w.Errorf("a recovery goes on at %d (%v), want 1", next, err)
			}
		}
	})
}

// A recovery seals a missing number for good. A tombstone that has expired does not keep it taken:
// when it is gone, a late member of an atomic write could be stored there.
func TestSealReplacesATombstoneThatIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.fill(w.recovered(j), 3)
		w.remove("journal-P-"+pid+"-0", 2)
		w.plantTombstone(2)
		w.recovered(j)
		if l, err := j.List(w.Context(), pid); err != nil || !slices.Equal(l.Seals, []int64{2}) || len(l.Tombstones) > 0 {
			w.Errorf("sealed are %v, and tombstones are at %v (%v), want a seal at 2", l.Seals, l.Tombstones, err)
		}
		w.wantVisible(j, 1, "filling", "filling")
	})
}

// copyRecords copies records to the persistence id.
func (w *world) copyRecords(j *dynajournal.Journal, records ...dynajournal.Record) error {
	w.Helper()
	_, err := j.PutRecords(w.Context(), pid, func(yield func(dynajournal.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}, dynajournal.PutRecordsOptions{})
	return err
}

// event returns the record of a single event.
func event(number int64, text string) dynajournal.Record {
	return dynajournal.Record{
		Kind: dynajournal.RecordEvent, SequenceNumber: number, WriterUUID: "other", SerializerID: 20, Bytes: []byte(text),
	}
}

// A history is copied to a persistence id of which tombstones are left.
func TestCopyTakesTheNumberOfATombstoneThatIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.plantTombstone(1)
		w.plantTombstone(2)
		if err := w.copyRecords(j, event(1, "1"), event(2, "2")); err != nil {
			w.Error(err)
		}
		w.wantVisible(j, 1, "1", "2")
	})
}

// What is copied up to a tombstone that is left outlives the next recovery.
func TestCopyOutlivesATombstoneThatIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.leavePurged(j, 150)
		var records []dynajournal.Record
		var want []string
		for n := range int64(140) {
			records, want = append(records, event(n+1, "copied")), append(want, "copied")
		}
		if err := w.copyRecords(j, records...); err != nil {
			w.Fatal(err)
		}
		w.recovered(j)
		w.wantVisible(j, 1, want...)
	})
}

// A repair that restores the high mark leads to nothing that is left of a purge.
func TestRepairLeadsToNoTombstoneThatIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.leavePurged(j, 150)
		w.append(w.recovered(j), "a", "b")
		for _, err := range j.Repair(w.Context(), pid, dynajournal.VerifyOptions{RestoreHighMark: true}) {
			if err != nil {
				w.Fatal(err)
			}
		}
		w.recovered(j)
		w.wantVisible(j, 1, "a", "b")
	})
}

// A copy that begins behind the low mark of a purge keeps that mark: it must not expire below the
// copied events.
func TestCopyBehindAPurgeStays(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2", "3")
		purge(w, j)
		if err := w.copyRecords(j, event(5, "5"), event(6, "6")); err != nil {
			w.Fatal(err)
		}
		w.pass(afterExpiry)
		w.wantListed(j, true)
		w.wantVisible(j, 1, "5", "6")
		w.wantNoFinding(j)
	})
}

// A purge does not read every partition below a far low mark. The fence of a snapshot there must
// not be left: it would hide what is written up to it later.
func TestFarFenceOutlivesNoPurge(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		if err := w.copyRecords(j, dynajournal.Record{Kind: dynajournal.RecordLowMark, SequenceNumber: 150_001}); err != nil {
			w.Fatal(err)
		}
		if _, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{Snapshot: 400_000, JournalLost: true}); err != nil {
			w.Fatal(err)
		}
		purge(w, j)
		w.pass(afterExpiry)
		low := dynajournal.Record{Kind: dynajournal.RecordLowMark, SequenceNumber: 149_999}
		if err := w.copyRecords(j, low, event(149_999, "1"), event(150_000, "2")); err != nil {
			w.Fatal(err)
		}
		w.recovered(j)
		w.wantVisible(j, 1, "1", "2")
	})
}

// Whoever finds the low mark of a purge gone must find everything else expired, also what was put
// with a clock that was ahead.
func TestLowMarkOfAPurgeExpiresLast(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.fill(w.recovered(j), 120)
		purge(w, j)
		found, err := dynamodb.NewFromConfig(w.engine.AWSConfig()).Scan(w.Context(),
			&dynamodb.ScanInput{TableName: aws.String(dynajournal.DefaultJournalTable)})
		if err != nil {
			w.Fatal(err)
		}
		low, others := 0, 0
		for _, item := range found.Items {
			expires, ok := item["expires"].(*types.AttributeValueMemberN)
			if !ok {
				continue // the header
			}
			at, err := strconv.Atoi(expires.Value)
			if err != nil {
				w.Fatal(err)
			}
			if item["par"].(*types.AttributeValueMemberS).Value == "journal-SL-"+pid+"-0" {
				low = at
			} else {
				others = max(others, at)
			}
		}
		if after := time.Duration(low-others) * time.Second; others == 0 || after < fenceWindow/10 {
			w.Errorf("the low mark expires %v after the rest, want at least %v", after, fenceWindow/10)
		}
	})
}

// plantTombstone puts a tombstone that has expired at a number, bypassing the journal.
func (w *world) plantTombstone(number int) {
	w.Helper()
	n := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }
	_, err := dynamodb.NewFromConfig(w.engine.AWSConfig()).PutItem(w.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Item: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-" + pid + "-0"},
			"num": n(number), "idx": n(1_000_000_000), "cnt": n(1_000_000_000), "expires": n(1),
		},
	})
	if err != nil {
		w.Fatal(err)
	}
}
