package systemtest

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
)

// Items that earlier versions left after deletions lead a JVM to used numbers. A repair with the
// option removes them, even if the JVM has already used such numbers.
func TestRepairOfWhatEarlierVersionsLeftInASharedJournal(t *testing.T) {
	t.Parallel()
	for name, jvmDeletes := range map[string]bool{"before a JVM deletes": false, "when a JVM has used numbers again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTurns(t, 10)
			d := &damaged{Journal: s.journal, t: t, table: dynamodb.NewFromConfig(s.config.AWS), config: s.config}
			m := s.truth("a")
			w := m.recover("at first")
			m.append(w, 20, false)
			m.deleted(20)
			if _, err := w.DeleteTo(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
			d.remove("journal-SL-a-9", 0)
			d.lowMark(21, map[string]any{"removed": 21})
			lost := 0
			if jvmDeletes {
				e := m.start("the JVM")
				m.persist(e, 5, false)
				m.jvmDeletes(e, 25)
				e, err := s.jvm.Start(t.Context(), "a")
				if err != nil || e.Highest != 20 {
					t.Fatalf("the JVM continues after %d, %v; want the mistake of earlier versions, 20", e.Highest, err)
				}
				if _, err := e.PersistEach(t.Context(), "lost 1", "lost 2"); err != nil {
					t.Fatal(err)
				}
				lost, m.top = 2, 25
			}
			archived := map[dynajournal.FindingKind]int{}
			opts := dynajournal.VerifyOptions{RemoveDeleted: true, Archive: func(r dynajournal.RemovedItem) error {
				archived[r.Kind]++
				return nil
			}}
			if lost > 0 {
				collect(t, s.journal.Repair(t.Context(), "a", opts))
				if n := len(archived); n > 0 {
					t.Errorf("%v were removed while events were among them", archived)
				}
				opts.RemoveOrphans = true
			}
			collect(t, s.journal.Repair(t.Context(), "a", opts))
			want := map[dynajournal.FindingKind]int{dynajournal.FindingBelowJVMLowMark: 20 + lost}
			if lost > 0 {
				want[dynajournal.FindingOrphanBelowLowMark] = lost
			}
			if fmt.Sprint(archived) != fmt.Sprint(want) {
				t.Errorf("archived %v, want %v", archived, want)
			}
			m.goesOn()
		})
	}
}

// A repair that removes the rest of a deletion removes the highest number last, and stops if
// something has changed: a JVM finds the same highest number until everything is removed.
func TestRepairRemovesTheHighestNumberLast(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	d := &damaged{Journal: s.journal, t: t, table: dynamodb.NewFromConfig(s.config.AWS), config: s.config}
	m := s.truth("a")
	w := m.recover("at first")
	m.append(w, 5, false)
	if _, err := w.DeleteTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	d.lowMark(6, map[string]any{"removed": 6})
	opts := dynajournal.VerifyOptions{RemoveDeleted: true, Archive: func(r dynajournal.RemovedItem) error {
		if highest, err := s.jvm.Highest(t.Context(), "a"); err != nil || highest != 5 {
			t.Errorf("before %d is removed a JVM finds %d, %v; want 5", r.SequenceNumber, highest, err)
		}
		if r.SequenceNumber == 3 {
			d.put("journal-P-a-0", 3, map[string]any{"idx": 1000000000, "cnt": 1000000000, "expires": 4000000001})
		}
		return nil
	}}
	collect(t, s.journal.Repair(t.Context(), "a", opts))
	if highest, err := s.jvm.Highest(t.Context(), "a"); err != nil || highest != 5 {
		t.Errorf("a JVM finds %d, %v; want 5", highest, err)
	}
}

// A repair that removes events below the low mark marks the highest number as taken permanently.
// Otherwise a JVM would use the numbers again when the tombstones have expired.
func TestRepairOfOrphansKeepsTheHighestNumberOfASharedJournal(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	d := &damaged{Journal: s.journal, t: t, table: dynamodb.NewFromConfig(s.config.AWS), config: s.config}
	m := s.truth("a")
	m.append(m.recover("at first"), 5, false)
	m.deleted(5)
	// the deletion was interrupted
	d.put("journal-SL-a-9", 0, map[string]any{"seq": 0, "low": 6, "removed": 1})
	opts := dynajournal.VerifyOptions{RemoveOrphans: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
	if n := len(collect(t, s.journal.Repair(t.Context(), "a", opts))); n != 5 {
		t.Errorf("%d findings, want 5", n)
	}
	for key, item := range d.items() {
		if item["expires"] != nil {
			var par string
			var num int
			if _, err := fmt.Sscan(key, &par, &num); err != nil {
				t.Fatal(err)
			}
			d.remove(par, num)
		}
	}
	m.goesOn()
}
