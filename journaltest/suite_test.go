package journaltest_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/journaltest"
)

// suiteOf returns the suite for memory journals with a defect.
func suiteOf(d defect) journaltest.Suite {
	return journaltest.Suite{
		Open: func(testing.TB) journaltest.Store {
			m := &memory{defect: d, entities: map[string]*entity{}}
			return journaltest.Store{Connect: func(testing.TB) journaltest.Journal { return m }}
		},
		IsConflict:   func(err error) bool { return errors.Is(err, errConflict) },
		IsVersion:    func(err error) bool { return errors.Is(err, errVersion) },
		IsRejected:   func(err error) bool { return errors.Is(err, errTooLarge) },
		LargestEvent: func(string, int64) int { return largest },
	}
}

// TestAnyJournalCanBeTested runs the suite for a journal that has nothing to do with DynamoDB.
func TestAnyJournalCanBeTested(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, suiteOf(none))
}

// brokenJournal is the environment variable with which TestBrokenJournal runs the suite for a
// journal with a defect.
const brokenJournal = "JOURNALTEST_DEFECT"

// TestBrokenJournal is run by TestDefectsAreFound, in its own process, because it fails.
func TestBrokenJournal(t *testing.T) {
	t.Parallel()
	d := os.Getenv(brokenJournal)
	if d == "" {
		t.Skip("it is run by TestDefectsAreFound")
	}
	journaltest.Run(t, suiteOf(defect(d)))
}

// TestDefectsAreFound checks that the suite fails for a journal with a defect, in the case that
// tests for this defect.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	for d, by := range map[defect]string{
		notFenced:       "of two writers the one that comes second gets a conflict",
		lostOnDelete:    "an emptied entity continues",
		zeroIsUnlimited: "replay nothing where the count is 0",
		limitBefore:     "replay after a deleted prefix, a number of events",
		oneEventLess:    "replay to an upper bound",
		batchCut:        "atomic writes of every size from 98 on",
		batchHidden:     "atomic writes of every size from 50 on",
		rejectedNumber:  "events of the size limit, and one byte more is rejected and leaves no hole",
		partlyRejected:  "an atomic write with an event over the limit is rejected whole",
		idsMixed:        "persistence ids don't mix",
		loserComesBack:  "a writer that lost stays out",
		afterTheEnd:     "a recovery after more than the journal has fails and changes nothing",
		notQueued:       "a snapshot that is newer than the journal is taken for the truth",
	} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(by, " ", "_")
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenJournal$/^"+regexp.QuoteMeta(name)+"$", "-test.v")
			run.Env = append(os.Environ(), brokenJournal+"="+string(d))
			out, err := run.CombinedOutput()
			if exit := new(exec.ExitError); !errors.As(err, &exit) {
				t.Fatalf("the suite found no defect (%v)", err)
			}
			if want := "--- FAIL: TestBrokenJournal/" + name + " "; !strings.Contains(string(out), want) {
				t.Errorf("the suite did not fail by %q:\n%s", by, out)
			}
		})
	}
}

// TestSkippedCasesHaveAReason uses a store whose table must not be modified, and skips one case by
// name.
func TestSkippedCasesHaveAReason(t *testing.T) {
	t.Parallel()
	if os.Getenv(brokenJournal) != "" {
		t.Skip("this process tests a defect")
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnyJournalCanBeTested$", "-test.v").CombinedOutput()
	if err != nil {
		t.Fatalf("the suite fails: %v\n%s", err, out)
	}
	for _, line := range []string{
		"--- SKIP: TestAnyJournalCanBeTested/the_last_sequence_number ",
		"the table of the journal must not be modified",
	} {
		if !strings.Contains(string(out), line) {
			t.Errorf("the suite does not print %q", line)
		}
	}
}
