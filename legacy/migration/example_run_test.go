package migration_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// This example copies a journal in an older layout into one in the current layout, and compares the
// two. The source is not changed, and a run may be repeated.
func ExampleRun() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	old := legacy.Config{Layout: legacy.Naive, Journal: dynajournal.Config{AWS: engine.AWSConfig(), JournalTable: "old"}}
	if err := legacy.CreateTable(ctx, old); err != nil {
		log.Fatal(err)
	}
	source, err := legacy.Open(ctx, old)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	writer, err := source.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := writer.AppendEach(ctx, "opened", "deposited", "closed"); err != nil {
		log.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}); err != nil {
		log.Fatal(err)
	}
	target, err := dynajournal.Open(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer target.Close()

	for range 2 {
		summary, err := migration.Run(ctx, migration.Legacy{Journal: source}, target, migration.Options{})
		fmt.Println("ids", summary.PersistenceIDs, "events", summary.Events, "written", summary.Written, err)
	}
	compared, err := migration.Verify(ctx, migration.Legacy{Journal: source}, target, migration.Options{})
	fmt.Println("equal", compared.Events, err)
	// Output:
	// ids 1 events 3 written 3 <nil>
	// ids 1 events 3 written 0 <nil>
	// equal 3 <nil>
}
