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

// skipVariant skips a variant of a suite by default, and under the race detector, which takes ten
// times as long. By default one variant of each kind of journal is not skipped, and under the race
// detector one of each suite. With the build tag long and without the race detector, none is
// skipped.
func skipVariant(t *testing.T, variant string) {
	t.Helper()
	kept := []string{"native in process", "shared in process"}
	if testsize.Race {
		kept = []string{"native over HTTP", "small items"}
	}
	if (testsize.Race || !testsize.Long) && !slices.Contains(kept, variant) {
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

// journalSuite is the suite of a kind of journal. Function configure returns its
// configuration; it has no tables yet.
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

// slowCases are the cases of the suite that are skipped without the build tag long. Each of them
// starts its atomic writes at another place of a partition than those that are not skipped.
func slowCases() map[string]string {
	skipped := map[string]string{}
	for _, start := range testsize.Of([]int{50, 99, 101, 198}, nil) {
		skipped[fmt.Sprintf("atomic writes of every size from %d on", start)] = "it runs with the build tag long"
	}
	return skipped
}

// TestEnvelopedJournalConforms runs the suite for events in the form of Akka 1.1. What the suite
// plants is in today's form, so a journal has both.
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

// store makes the tables of a journal, for the suite.
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
