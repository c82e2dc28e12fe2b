package systemtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
)

// skipVariant skips most variants of a suite: by default, all but one of each kind of journal, and
// under the race detector, which takes ten times as long, all but one of each suite. With the build
// tag long and without the race detector, it skips none.
func skipVariant(t *testing.T, variant string) {
	t.Helper()
	storages := []string{"native in process", "shared in process"}
	if testsize.Race {
		storages = []string{"native over HTTP", "small items"}
	}
	if (testsize.Race || !testsize.Long) && !slices.Contains(storages, variant) {
		t.Skip("skipped: this variant runs with the build tag long, without the race detector")
	}
}

func TestJournalConforms(t *testing.T) {
	t.Parallel()
	for transport, connect := range transports {
		for kind, options := range kinds {
			t.Run(kind+" "+transport, func(t *testing.T) {
				skipVariant(t, kind+" "+transport)
				t.Parallel()
				journaltest.Run(t, journalSuite(options, func(tb testing.TB) dynajournal.Config {
					tb.Helper()
					return dynajournal.Config{AWS: connect(tb, openEngine(tb))}
				}))
			})
		}
	}
}

// journalSuite returns the suite of a kind of journal. configure returns a configuration whose
// tables do not exist yet.
func journalSuite(options dynajournal.TableOptions, configure func(testing.TB) dynajournal.Config) journaltest.Suite {
	return journaltest.Suite{
		Open: func(tb testing.TB) journaltest.Store {
			tb.Helper()
			return store(tb, configure(tb), options)
		},
		LargestEvent:  func(pid string, seq int64) int { return largestEvent(pid, seq, !options.SharedWithJVM) },
		PurgeRestarts: options.SharedWithJVM, ClosesIncompleteEnd: options.SharedWithJVM,
		Skip: slowCases(),
	}
}

// slowCases returns the cases of the suite that are skipped without the build tag long. They start
// their atomic writes at other positions of a partition than the remaining cases.
func slowCases() map[string]string {
	skipped := map[string]string{}
	for _, start := range testsize.Of([]int{50, 99, 101, 198}, nil) {
		skipped[fmt.Sprintf("atomic writes of every size from %d on", start)] = "it runs with the build tag long"
	}
	return skipped
}

// TestEnvelopedJournalConforms runs the suite for events in Akka 1.1's form. The suite itself
// stores events in the current form, so the journal has both.
func TestEnvelopedJournalConforms(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			skipVariant(t, "enveloped "+kind)
			t.Parallel()
			suite := journalSuite(options, func(tb testing.TB) dynajournal.Config {
				tb.Helper()
				return dynajournal.Config{AWS: openEngine(tb).AWSConfig(), OldEventFormat: true}
			})
			suite.LargestEvent = func(pid string, seq int64) int { return largestEnveloped(pid, seq, !options.SharedWithJVM) }
			journaltest.Run(t, suite)
		})
	}
}

// store creates the tables of a journal, and returns its store for the suite.
func store(tb testing.TB, config dynajournal.Config, options dynajournal.TableOptions) journaltest.Store {
	tb.Helper()
	createTables(tb, config, options)
	shards := int64(1)
	if options.SharedWithJVM {
		shards = dynajournal.DefaultSequenceShards
	}
	name := config.JournalTable
	if name == "" {
		name = dynajournal.DefaultJournalTable
	}
	client := dynamodb.NewFromConfig(config.AWS)
	return journaltest.Store{
		Connect: func(tb testing.TB) journaltest.Journal {
			tb.Helper()
			return journaltest.Adapt(openJournal(tb, config))
		},
		Table: &journaltest.Table{Client: client, Name: name, JournalName: dynajournal.DefaultJournalName, Shards: shards},
	}
}
