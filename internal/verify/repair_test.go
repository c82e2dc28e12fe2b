package verify_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/verify"
)

type meter = dynamo.Meter

// one returns the single finding of a journal.
func (j *journal) one(kind verify.Kind) *verify.Finding {
	j.Helper()
	found := j.check()
	if len(found) != 1 || found[0].Kind != kind {
		j.Fatalf("found %q, want %s alone", short(found), kind)
	}
	return &found[0]
}

// removals are findings whose repair removes items, with the numbers of the items.
var removals = map[string]struct {
	shared bool
	kind   verify.Kind
	put    func(j *journal)
	items  []int64
}{
	"an orphan": {false, verify.OrphanBelowLowMark, func(j *journal) {
		j.singles(1, 3)
		j.lowMark(2)
	}, []int64{1}},
	"members of a dead atomic write": {false, verify.IncompleteBatch, func(j *journal) {
		j.batch(1, 4, 2)
		j.put(j.keys.EncodeSeal(pid, 2))
	}, []int64{1, 3, 4}},
	"tombstones below a JVM's low mark": {true, verify.BelowJVMLowMark, func(j *journal) {
		j.tombstones(1, 3)
		j.lowMark(4)
	}, []int64{1, 2, 3}},
}

// An item whose archiving fails stays, and so do the items after it.
func TestRepair_ArchiveFails(t *testing.T) {
	t.Parallel()
	for name, c := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for allowed := range c.items {
				j := newJournal(t, c.shared)
				c.put(j)
				before := map[int64]layout.Attributes{}
				for _, seq := range c.items {
					before[seq] = j.stored(seq)
				}
				var archived []int64
				_, err := j.one(c.kind).Repair(t.Context(), &verify.Mender{Meter: &meter{}, Archive: func(r verify.Removed) error {
					if len(archived) == allowed {
						return errStopped
					}
					archived = append(archived, r.SequenceNr)
					return nil
				}})
				if !errors.Is(err, errStopped) {
					t.Fatalf("the repair ends with %v", err)
				}
				for i, seq := range c.items {
					if same := sameItem(j.stored(seq), before[seq]); same != (i >= allowed) {
						t.Errorf("after %d were archived, the item at %d is as before: %v", allowed, seq, same)
					}
				}
			}
		})
	}
}

func sameItem(a, b layout.Attributes) bool {
	return maps.EqualFunc(a, b, func(v, w types.AttributeValue) bool {
		switch v := v.(type) {
		case *types.AttributeValueMemberB:
			w, ok := w.(*types.AttributeValueMemberB)
			return ok && string(v.Value) == string(w.Value)
		case *types.AttributeValueMemberN:
			w, ok := w.(*types.AttributeValueMemberN)
			return ok && v.Value == w.Value
		case *types.AttributeValueMemberS:
			w, ok := w.(*types.AttributeValueMemberS)
			return ok && v.Value == w.Value
		}
		return false
	})
}

// An item that has changed since it was judged stays as it is.
func TestRepair_ItemChangedSinceCheck(t *testing.T) {
	t.Parallel()
	for name, c := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t, c.shared)
			c.put(j)
			f := j.one(c.kind)
			changed := map[int64]layout.Attributes{}
			for _, seq := range c.items {
				changed[seq] = j.event(seq, "another", layout.Batch{})
				j.put(changed[seq])
			}
			if did, _, err := j.repair(f); did || err != nil {
				t.Errorf("the repair: changed %v, %v", did, err)
			}
			for _, seq := range c.items {
				if !sameItem(j.stored(seq), changed[seq]) {
					t.Errorf("the item at %d is now %v", seq, j.stored(seq))
				}
			}
		})
	}
}

// A purge after which the persistence id is used again takes away the low mark by which the event
// was judged.
func TestRepair_OrphanAfterPurgeAndReuse(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.singles(1, 3)
	j.lowMark(2)
	f := j.one(verify.OrphanBelowLowMark)
	j.put(j.keys.EncodeLowMark(pid, layout.LowMark{}, nil))
	if changed, archived, err := j.repair(f); changed || len(archived) > 0 || err != nil {
		t.Errorf("the repair: changed %v, archived %v, %v", changed, archived, err)
	}
}

// A deletion that cuts a whole atomic write puts the low mark first: members are judged again by
// it.
func TestRepair_MembersOfCutAtomicWrite(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.batch(1, 4, 2)
	j.put(j.keys.EncodeSeal(pid, 2))
	f := j.one(verify.IncompleteBatch)
	j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 3, Removed: 1, Cut: layout.Batch{Start: 1, Last: 4, WriterUUID: "w"}}, j.listed()))
	if changed, archived, err := j.repair(f); changed || len(archived) > 0 || err != nil {
		t.Errorf("the repair: changed %v, archived %v, %v", changed, archived, err)
	}
}

// In a shared journal a JVM finds the highest number by the item that is stored there: an orphan at
// that number becomes a seal, which does not expire.
func TestRepair_OrphanAtHighestNumberBecomesSeal(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"native": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t, shared)
			j.put(j.event(1, "w", layout.Batch{}))
			// A JVM still reads the number: its low mark is 1.
			j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 2, Removed: 2, Ahead: map[bool]int64{true: 1}[shared]}, j.listed()))
			found := j.check()
			i := slices.IndexFunc(found, func(f verify.Finding) bool { return f.Kind == verify.OrphanBelowLowMark })
			if i < 0 {
				t.Fatalf("found %q", short(found))
			}
			if changed, _, err := j.repair(&found[i]); !changed || err != nil {
				t.Fatalf("the repair: changed %v, %v", changed, err)
			}
			item := j.stored(1)
			if expires := item["expires"] != nil; expires == shared || !layout.IsClosed(item) {
				t.Errorf("the number holds %v", item)
			}
		})
	}
}

func TestRepair_FindingWithoutRepair(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.singles(1, 3)
	j.put(j.keys.EncodeHighMark(pid, 500))
	f := j.one(verify.MarkBeyondEvents)
	if changed, _, err := j.repair(f); changed || err == nil {
		t.Errorf("the repair: changed %v, %v", changed, err)
	}
}

// A tombstone that was replaced meanwhile is not removed.
func TestRepair_RenewedTombstone(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.checker.TTL = false
	j.singles(2, 3)
	j.lowMark(2)
	j.put(j.keys.EncodeTombstone(pid, 1, now-1))
	f := j.one(verify.ExpiredTombstone)
	j.tombstones(1, 1)
	if changed, _, err := j.repair(f); changed || err != nil || j.stored(1) == nil {
		t.Errorf("the repair: changed %v, %v; stored is %v", changed, err, j.stored(1))
	}
}
