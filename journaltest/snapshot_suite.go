package journaltest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// SnapshotSuite says what is tested of a snapshot store. Open is required; the zero values of the others are those of
// dynajournal's own journals.
//
//	func TestSnapshots(t *testing.T) {
//		journaltest.RunSnapshots(t, journaltest.SnapshotSuite{
//			Open: func(tb testing.TB) journaltest.SnapshotStore {
//				db := openEmptyDatabase(tb)
//				return func(tb testing.TB) journaltest.Snapshots { return connect(tb, db) }
//			},
//		})
//	}
type SnapshotSuite struct {
	// Open makes a store with nothing in it. Each case has one of its own; what has to be closed is left to tb.Cleanup.
	// Cases run in parallel.
	Open func(tb testing.TB) SnapshotStore

	// IsInvalid recognizes the error of wrong arguments, IsRejected that of a state that can't be stored.
	IsInvalid, IsRejected func(error) bool

	// NewestByTimestamp says that where the criteria don't bound the sequence number, the snapshot with the newest timestamp
	// is selected, of those with the same the one with the highest sequence number. Otherwise the latter is, always.
	NewestByTimestamp bool

	// Border is the size in bytes of the largest state that is stored in the ordinary way; from one byte more the store has
	// to do something else (split it, put it elsewhere). Nil if there is no such border.
	Border func(persistenceID string, s Snapshot) int

	// Largest is the size in bytes of the largest state that can be stored; 0 is not to be tried.
	Largest int

	// Skip names the cases that the store can't pass, each with the reason, which the test prints.
	Skip map[string]string
}

// SnapshotStore opens the snapshots of a store. Each call gives a further instance, which shares nothing with the others but
// what is stored, as that of another process does.
type SnapshotStore func(tb testing.TB) Snapshots

// snapshotCase is one rule of the suite.
type snapshotCase struct {
	name string
	run  func(s *snapshotScene)
}

// RunSnapshots runs every case of the suite as a subtest.
func RunSnapshots(t *testing.T, suite SnapshotSuite) {
	t.Helper()
	if suite.IsInvalid == nil {
		suite.IsInvalid = func(err error) bool { return errors.Is(err, dynajournal.ErrInvalidArgument) }
	}
	if suite.IsRejected == nil {
		suite.IsRejected = func(err error) bool { return errors.Is(err, dynajournal.ErrRejected) }
	}
	cases := slices.Concat(selectionCases(), snapshotDeletionCases(), replacementCases(), snapshotSizeCases(), snapshotModelCases())
	for name := range suite.Skip {
		if !slices.ContainsFunc(cases, func(c snapshotCase) bool { return c.name == name }) {
			t.Errorf("SnapshotSuite.Skip names %q, which is no case", name)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if reason, skipped := suite.Skip[c.name]; skipped {
				t.Skip(reason)
			}
			store := suite.Open(t)
			c.run(&snapshotScene{T: t, suite: &suite, store: store, snapshots: store(t)})
		})
	}
}

// epoch is when the suite's snapshots begin; its digits let sizes be computed exactly.
var epoch = time.UnixMilli(1_700_000_000_111).UTC()

// at is a moment n milliseconds after the epoch.
func at(n int64) time.Time { return epoch.Add(time.Duration(n) * time.Millisecond) }

// byTime says whether the newest of the snapshots that meet the criteria is selected by its timestamp.
func (s *SnapshotSuite) byTime(c Criteria) bool {
	return s.NewestByTimestamp && c.MinSequenceNumber == 0 && c.MaxSequenceNumber == 0
}
