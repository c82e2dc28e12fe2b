package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// exampleJournal opens a new journal on an engine of its own, with the fields of config that are
// set. The examples use it; it does what the package's first example shows.
func exampleJournal(ctx context.Context, config dynajournal.Config) (*dynajournal.Journal, func()) {
	engine, err := embedded.OpenMemory()
	check(err)
	config.AWS = engine.AWSConfig()
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	return journal, func() {
		check(journal.Close())
		check(engine.Close())
	}
}

// recoverExample recovers a persistence id without replaying it, and appends the strings e1 to e<n>
// one by one.
func recoverExample(ctx context.Context, journal *dynajournal.Journal, persistenceID string, n int) *dynajournal.Writer {
	writer, err := journal.Recover(ctx, persistenceID, dynajournal.RecoverOptions{}, nil)
	check(err)
	for i := range n {
		_, err := writer.Append(ctx, fmt.Sprintf("e%d", i+1))
		check(err)
	}
	return writer
}
