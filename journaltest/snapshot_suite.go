package journaltest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// SnapshotSuite is the configuration of the suite for a snapshot store. Open is required. The
// defaults of the other fields fit dynajournal's own journals.
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
	// Open creates an empty store, and closes it with tb.Cleanup. Each case has its own store.
	// Cases run in parallel.
	Open func(tb testing.TB) SnapshotStore

	// IsInvalid recognizes errors of invalid arguments. IsRejected recognizes the error of a state
	// that can't be stored.
	IsInvalid, IsRejected func(error) bool

	// NewestByTimestamp reports that the newest timestamp decides which snapshot is loaded if the
	// criteria don't limit the sequence number. If several snapshots have this timestamp, the
	// highest sequence number among them decides. If it is false, the highest sequence number
	// always decides.
	NewestByTimestamp bool

	// Border returns the size in bytes of the largest state that is stored in the ordinary form. A
	// larger state needs another form (the store splits it, or puts it elsewhere). Border is nil if
	// the store has only one form.
	Border func(persistenceID string, s Snapshot) int

	// Largest is the size in bytes of the largest state that can be stored. 0 skips the case.
	Largest int

	// Skip names the cases that the store can't pass, each with the reason, which the test prints.
	Skip map[string]string
}

// SnapshotStore opens the snapshots of a store. Each call returns another instance, which shares
// only the stored data with the others, like an instance of another process.
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
	cases := slices.Concat(selectionCases(), snapshotDeletionCases(), replacementCases(), snapshotSizeCases(),
		snapshotModelCases())
	for name := range suite.Skip {
		if !slices.ContainsFunc(cases, func(c snapshotCase) bool { return c.name == name }) {
			t.Errorf("SnapshotSuite.Skip names %q, which is not a case", name)
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

// epoch is the time of the suite's first snapshots. With its digits, sizes can be computed exactly.
var epoch = time.UnixMilli(1_700_000_000_111).UTC()

// at returns the time n milliseconds after the epoch.
func at(n int64) time.Time { return epoch.Add(time.Duration(n) * time.Millisecond) }

// byTime reports whether the newest timestamp decides which of the snapshots that meet the criteria
// is loaded.
func (s *SnapshotSuite) byTime(c Criteria) bool {
	return s.NewestByTimestamp && c.MinSequenceNumber == 0 && c.MaxSequenceNumber == 0
}
