package systemtest

import (
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/journaltest"
)

// TestConformsWithoutPartiQLAndTransactions runs the suites on an engine that has neither, like
// ScyllaDB Alternator.
func TestConformsWithoutPartiQLAndTransactions(t *testing.T) {
	t.Parallel()
	skipVariant(t, "without PartiQL and transactions")
	conforms(t, func(tb testing.TB) dynajournal.Config {
		tb.Helper()
		return dynajournal.Config{AWS: openEngine(tb, embedded.WithoutFeatures(embedded.PartiQL, embedded.Transactions)).AWSConfig()}
	})
}

// conforms runs the suites of native and shared journals and of their snapshots. configure returns
// the configuration of a journal without tables.
func conforms(t *testing.T, configure func(testing.TB) dynajournal.Config) {
	t.Helper()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			journaltest.Run(t, journalSuite(options, configure))
		})
		// One after the other: the largest snapshot takes several hundred megabytes of memory.
		t.Run("snapshots of "+kind, func(t *testing.T) {
			journaltest.RunSnapshots(t, journaltest.SnapshotSuite{
				Open: func(tb testing.TB) journaltest.SnapshotStore {
					tb.Helper()
					config := configure(tb)
					createTables(tb, config, options)
					return func(tb testing.TB) journaltest.Snapshots {
						tb.Helper()
						return journaltest.AdaptSnapshots(openJournal(tb, config))
					}
				},
				Largest: dynajournal.DefaultMaxSnapshotBytes,
				Border:  func(pid string, s journaltest.Snapshot) int { return largestState(pid, s, 0) },
			})
		})
	}
}
