package journaltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// Suite is the configuration of the suite. Open is required. The defaults of the other fields fit
// dynajournal's own journals.
type Suite struct {
	// Open creates an empty store, and closes it with tb.Cleanup. Each case has its own store.
	// Cases run in parallel.
	Open func(tb testing.TB) Store

	// IsConflict recognizes the error of a writer that lost to another. IsRejected recognizes the
	// error of events that can't be stored. IsVersion recognizes the error of a recovery after a
	// number above the highest.
	IsConflict, IsRejected, IsVersion func(error) bool

	// LargestEvent returns the size in bytes of the largest event that can be stored at a sequence
	// number. Nil means no limit.
	LargestEvent func(persistenceID string, sequenceNumber int64) int

	// MaxSequenceNumber is the highest possible sequence number. Defaults to dynajournal's.
	MaxSequenceNumber int64

	// LowestDiffers reports that Bounds.Lowest is not the first number that is not deleted, as in
	// layouts that store deletions in another way. The suite then does not check it.
	LowestDiffers bool

	// NoAtomicWrites is the reason why the journal has no atomic writes of several events. It is
	// empty if the journal has them. Cases about atomic writes are skipped with this reason. Other
	// cases write single events instead.
	NoAtomicWrites string

	// PurgeRestarts reports that a purged persistence id starts again at 1. Otherwise it continues
	// after its highest number, and a writer from before the purge can't write.
	PurgeRestarts bool

	// ClosesIncompleteEnd reports that a recovery seals the number after an atomic write that lacks
	// its end, as in a journal that is shared with a JVM. Otherwise the next event takes the
	// number.
	ClosesIncompleteEnd bool

	// Skip names the cases that the journal can't pass, each with the reason, which the test
	// prints.
	Skip map[string]string
}

// Store is the store of one case, which is empty at first.
type Store struct {
	// Connect opens a journal on the store. Each call returns another instance, which shares only
	// the stored data with the others, like an instance of another process.
	Connect func(tb testing.TB) Journal

	// Table is the table of the journal. It is nil if the table must not be modified, or does not
	// have the current layout.
	Table *Table
}

// testCase is one rule of the suite.
type testCase struct {
	name string
	// table reports that the case puts damaged items into the table. sized reports that it needs
	// Suite.LargestEvent. atomic reports that it is about atomic writes.
	table, sized, atomic bool
	run                  func(s *scene)
}

// Run runs every case of the suite as a subtest.
func Run(t *testing.T, suite Suite) {
	t.Helper()
	if suite.IsConflict == nil {
		suite.IsConflict = func(err error) bool { return errors.Is(err, dynajournal.ErrWriterConflict) }
	}
	if suite.IsRejected == nil {
		suite.IsRejected = func(err error) bool { return errors.Is(err, dynajournal.ErrRejected) }
	}
	if suite.IsVersion == nil {
		suite.IsVersion = func(err error) bool { return errors.Is(err, dynajournal.ErrVersion) }
	}
	if suite.MaxSequenceNumber == 0 {
		suite.MaxSequenceNumber = dynajournal.MaxSequenceNumber
	}
	cases := slices.Concat(replayCases(), writerCases(), batchCases(), gapCases(), deletionCases(), markCases(),
		limitCases())
	for name := range suite.Skip {
		if !slices.ContainsFunc(cases, func(c testCase) bool { return c.name == name }) {
			t.Errorf("Suite.Skip names %q, which is not a case", name)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			switch reason, skipped := suite.Skip[c.name]; {
			case skipped:
				t.Skip(reason)
			case c.atomic && suite.NoAtomicWrites != "":
				t.Skip(suite.NoAtomicWrites)
			case c.sized && suite.LargestEvent == nil:
				t.Skip("the journal has no limit of the size of an event")
			}
			store := suite.Open(t)
			if c.table && store.Table == nil {
				t.Skip("the table of the journal must not be modified, or has another layout, so the case can't put damaged items")
			}
			c.run(&scene{T: t, suite: &suite, store: store, journal: store.Connect(t)})
		})
	}
}
