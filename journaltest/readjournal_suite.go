package journaltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// ReadJournalSuite is the configuration of the suite for a read journal. Open is required. The
// defaults of the other fields fit dynajournal's own journals.
type ReadJournalSuite struct {
	// Open creates an empty store, and closes it with tb.Cleanup. Each case has its own store.
	// Cases run in parallel.
	Open func(tb testing.TB) ReadStore

	// IsInvalid recognizes errors of invalid arguments. IsConflict recognizes the error of a writer
	// that lost to another.
	IsInvalid, IsConflict func(error) bool

	// Many is the number of persistence ids in the largest listing. Defaults to 10,000.
	Many int

	// Skip names the cases that the read journal can't pass, each with the reason, which the test
	// prints.
	Skip map[string]string
}

// ReadStore is the store of one case, which is empty at first.
type ReadStore struct {
	// Connect opens a journal by name on the store, with its read journals. The same name opens the
	// same journal.
	Connect func(tb testing.TB, journalName string) ReadSide

	// Table is the table of the journal named DefaultName, or nil if it must not be modified.
	Table *Table
}

// DefaultName is the name of the journal that most cases use.
const DefaultName = "journal"

// ReadSide is a journal and its read journals.
type ReadSide struct {
	Journal Journal
	// Ways are the ways to list ids. All must list the same ids. The first one is also used to read
	// events.
	Ways []Way
}

// Way is a way to list ids.
type Way struct {
	Name string
	Read ReadJournal
	// Unordered reports that a listing can't be resumed after an id.
	Unordered bool
}

// readCase is one rule of the suite.
type readCase struct {
	name string
	// table reports that the case puts damaged items into the table.
	table bool
	run   func(s *readScene)
}

// RunReadJournal runs every case of the suite as a subtest.
func RunReadJournal(t *testing.T, suite ReadJournalSuite) {
	t.Helper()
	if suite.IsInvalid == nil {
		suite.IsInvalid = func(err error) bool { return errors.Is(err, dynajournal.ErrInvalidArgument) }
	}
	if suite.IsConflict == nil {
		suite.IsConflict = func(err error) bool { return errors.Is(err, dynajournal.ErrWriterConflict) }
	}
	if suite.Many == 0 {
		suite.Many = 10_000
	}
	cases := slices.Concat(listingCases(), livingListCases(), readEventsCases(), liveEventsCases())
	for name := range suite.Skip {
		if !slices.ContainsFunc(cases, func(c readCase) bool { return c.name == name }) {
			t.Errorf("ReadJournalSuite.Skip names %q, which is not a case", name)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if reason, skipped := suite.Skip[c.name]; skipped {
				t.Skip(reason)
			}
			store := suite.Open(t)
			if c.table && store.Table == nil {
				t.Skip("the table of the journal must not be modified, so the case can't put damaged items")
			}
			side := store.Connect(t, DefaultName)
			c.run(&readScene{
				scene: &scene{T: t, suite: &Suite{IsConflict: suite.IsConflict}, store: Store{Table: store.Table},
					journal: side.Journal},
				suite: &suite, store: store, ways: side.Ways, read: side.Ways[0].Read,
			})
		})
	}
}
