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
	// Open creates an empty store. Each case has its own, and tb.Cleanup closes it. Cases run in
	// parallel.
	Open func(tb testing.TB) Store

	// IsConflict recognizes the error of a writer that lost to another, IsRejected that of events
	// that can't be stored, IsVersion that of a recovery after a number above the highest.
	IsConflict, IsRejected, IsVersion func(error) bool

	// LargestEvent returns the size in bytes of the largest event that can be stored at a sequence
	// number. Nil is no limit.
	LargestEvent func(persistenceID string, sequenceNumber int64) int

	// MaxSequenceNumber is the last sequence number of an event. Defaults to dynajournal's.
	MaxSequenceNumber int64

	// LowestDiffers reports that Bounds.Lowest is not the first number that is not deleted, as in
	// layouts that store deletions in another way. The suite does not compare it then.
	LowestDiffers bool

	// NoAtomicWrites is the reason why the journal has no atomic writes of several events, or empty
	// if it has. The cases about atomic writes are skipped with this reason. The others write
	// single events instead.
	NoAtomicWrites string

	// PurgeRestarts reports that a purged persistence id starts again at 1. Otherwise it continues
	// after its highest number, and a writer from before the purge can't write.
	PurgeRestarts bool

	// ClosesIncompleteEnd reports that a recovery seals the number after an atomic write that
	// lacks its end, as in a journal that is shared with a JVM. Otherwise the next event takes it.
	ClosesIncompleteEnd bool

	// Skip names the cases that the journal can't pass, each with the reason, which the test
	// prints.
	Skip map[string]string
}

// Store is an empty store of one case.
type Store struct {
	// Connect opens a journal on the store. Each call returns another instance, which shares only
	// the stored data with the others, as one of another process does.
	Connect func(tb testing.TB) Journal

	// Table is the table of the journal. It is nil if it must not be modified, or does not have the
	// current layout.
	Table *Table
}

// testCase is one rule of the suite.
type testCase struct {
	name string
	// table: the case puts damaged items into the table. sized: it needs a limit of events. atomic:
	// it is about atomic writes.
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
			t.Errorf("Suite.Skip names %q, which is no case", name)
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
