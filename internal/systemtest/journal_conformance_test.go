package systemtest

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
)

// standsForAll skips the variants of a suite that others stand for: by default, and under the race
// detector, which takes ten times as long. Both kinds are left, and under the race detector both
// transports. Every variant runs with the build tag long and without the race detector.
func standsForAll(t *testing.T, variant string) {
	t.Helper()
	standing := []string{"native in process", "shared in process", "small items"}
	if underRace {
		standing[1] = "shared over HTTP"
	}
	if (underRace || !testsize.Long) && !slices.Contains(standing, variant) {
		t.Skip("skipped: this variant runs with the build tag long, without the race detector")
	}
}

func TestJournalConforms(t *testing.T) {
	t.Parallel()
	for transport, connect := range transports {
		for kind, options := range kinds {
			t.Run(kind+" "+transport, func(t *testing.T) {
				standsForAll(t, kind+" "+transport)
				t.Parallel()
				journaltest.Run(t, journalSuite(options, func(tb testing.TB) dynajournal.Config {
					tb.Helper()
					return dynajournal.Config{AWS: connect(tb, openEngine(tb))}
				}))
			})
		}
	}
}

// journalSuite is the suite of a kind of journal; configure says where one without tables is.
func journalSuite(options dynajournal.TableOptions, configure func(testing.TB) dynajournal.Config) journaltest.Suite {
	return journaltest.Suite{
		Open: func(tb testing.TB) journaltest.Store {
			tb.Helper()
			return store(tb, configure(tb), options)
		},
		LargestEvent:  func(pid string, seq int64) int { return largestEvent(pid, seq, !options.SharedWithJVM) },
		PurgeRestarts: options.SharedWithJVM,
	}
}

// TestEnvelopedJournalConforms runs the suite for events in the form of Akka 1.1. What the suite
// plants is in today's form, so both stand side by side.
func TestEnvelopedJournalConforms(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			standsForAll(t, "enveloped "+kind)
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
