package journaltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// Suite says what is tested. Open is required; the zero values of the others are those of dynajournal's own journals.
type Suite struct {
	// Open makes a store with nothing in it. Each case has one of its own; what has to be closed is left to tb.Cleanup.
	// Cases run in parallel.
	Open func(tb testing.TB) Store

	// IsConflict recognizes the error of a writer that lost to another, IsRejected that of events that can't be stored.
	IsConflict, IsRejected func(error) bool

	// LargestEvent is the size in bytes of the largest event that can be stored at a sequence number. Nil is no limit.
	LargestEvent func(persistenceID string, sequenceNumber int64) int

	// MaxSequenceNumber is the last sequence number that an event can have; 0 is dynajournal's.
	MaxSequenceNumber int64

	// LowestDiffers says that Bounds.Lowest is not the first number that is left, as in layouts that remember something else of
	// deletions. It is not compared then.
	LowestDiffers bool

	// NoAtomicWrites is why the journal has no atomic writes of several events; empty if it has them. The cases that are about
	// them are skipped with this reason; the others write single events where they would have written an atomic write.
	NoAtomicWrites string

	// PurgeRestarts says that a purged persistence id begins again at 1. Else it goes on after its highest number, and
	// a writer of before the purge can't write.
	PurgeRestarts bool

	// Skip names the cases that the journal can't pass, each with the reason, which the test prints.
	Skip map[string]string
}

// Store is an empty store of one case.
type Store struct {
	// Connect opens a journal on the store. Each call gives a further instance, which shares nothing with the others but
	// what is stored, as that of another process does.
	Connect func(tb testing.TB) Journal

	// Table is the table behind the journal, nil if it is not to be touched, or has another layout than the current one.
	Table *Table
}

// testCase is one rule of the suite.
type testCase struct {
	name string
	// table: the case plants damage in the table. sized: it needs a limit of events. atomic: it is about atomic writes.
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
	if suite.MaxSequenceNumber == 0 {
		suite.MaxSequenceNumber = dynajournal.MaxSequenceNumber
	}
	cases := slices.Concat(replayCases(), writerCases(), batchCases(), gapCases(), deletionCases(), markCases(), limitCases())
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
				t.Skip("the table behind the journal is not to be touched, or has another layout, so no damage can be planted")
			}
			c.run(&scene{T: t, suite: &suite, store: store, journal: store.Connect(t)})
		})
	}
}
