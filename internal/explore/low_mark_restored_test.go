package explore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// An operator restores only the low mark of a persistence id from a backup, and no other item.

// lowMark returns the item of the low mark, or nil.
func (w *world) lowMark() layout.Attributes {
	w.Helper()
	out, err := dynamodb.NewFromConfig(w.engine.AWSConfig()).GetItem(w.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Key:       earlier.LowMarks(pid)[0].Attributes(),
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.Item
}

// restoreLowMark replaces the low mark.
func (w *world) restoreLowMark(item layout.Attributes) {
	w.Helper()
	if item == nil {
		w.remove("journal-SL-"+pid+"-0", 0)
		return
	}
	w.put(item)
}

// An older low mark hides no event, and no deleted event reappears. While the tombstones exist, the
// persistence id continues where it was. After they have expired, an event above the missing
// numbers makes each recovery fail, and verify reports the missing numbers. Only if no event is
// left is the mark not known to be too old: numbers start again after it.
func TestLowMarkRestoredAlone(t *testing.T) {
	type step func(*world, *dynajournal.Journal)
	fill := func(n int) step {
		return func(w *world, j *dynajournal.Journal) { w.fill(w.recovered(j), n) }
	}
	deleteTo := func(to int64) step {
		return func(w *world, j *dynajournal.Journal) {
			if _, err := w.recovered(j).DeleteTo(w.Context(), to); err != nil {
				w.Fatal(err)
			}
		}
	}
	purgeIt := func(w *world, j *dynajournal.Journal) { purge(w, j) }

	for _, c := range []struct {
		name          string
		before, after []step // the backup is made between them
		visible       int    // events at the end
		next          int64  // the next number of the persistence id
		again         int64  // where the numbers start again; 0 if recoveries fail instead
	}{
		{"a deletion is lost", []step{fill(6)}, []step{deleteTo(4)}, 2, 7, 0},
		{"the second of two", []step{fill(6), deleteTo(2)}, []step{deleteTo(4)}, 2, 7, 0},
		{"everything was deleted", []step{fill(206), deleteTo(2)}, []step{deleteTo(206)}, 0, 207, 3},
		{"and events follow", []step{fill(6), deleteTo(2)}, []step{deleteTo(6), fill(2)}, 2, 9, 0},
		{"a purge is lost", []step{fill(6)}, []step{purgeIt}, 0, 8, 1},
		{"and events follow it", []step{fill(6)}, []step{purgeIt, fill(3)}, 3, 11, 0},
		{"the second of two purges", []step{fill(6), purgeIt}, []step{fill(3), purgeIt}, 0, 12, 8},
		{"and events follow both", []step{fill(6), purgeIt}, []step{fill(3), purgeIt, fill(2)}, 2, 14, 0},
	} {
		for _, expired := range []bool{false, true} {
			inWorld(t, func(w *world) {
				j := w.journal("one")
				for _, do := range c.before {
					do(w, j)
				}
				backup := w.lowMark()
				w.pass(afterExpiry)
				for _, do := range c.after {
					do(w, j)
				}
				if expired {
					w.pass(afterExpiry)
				}
				w.restoreLowMark(backup)

				next := c.next
				if expired {
					next = c.again
				}
				r, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{})
				if next == 0 {
					if !errors.Is(err, dynajournal.ErrEventMissing) || !w.finds(j, "hole") {
						w.Errorf("%s: the recovery ends with %v, or verify finds no hole", c.name, err)
					}
					return
				}
				if err != nil {
					w.Fatalf("%s: %v", c.name, err)
				}
				if n, err := r.NextSequenceNumber(w.Context()); err != nil || n != next || len(r.seen) != c.visible {
					w.Errorf("%s: %d events, and the next number is %d (%v), want %d and %d",
						c.name, len(r.seen), n, err, c.visible, next)
				}
			})
		}
	}
}

// finds reports whether verify has a finding of a kind.
func (w *world) finds(j *dynajournal.Journal, kind string) bool {
	w.Helper()
	var kinds []string
	for f, err := range j.Verify(w.Context(), pid, dynajournal.VerifyOptions{}) {
		if err != nil {
			w.Fatal(err)
		}
		kinds = append(kinds, string(f.Kind))
	}
	return slices.Contains(kinds, kind)
}
