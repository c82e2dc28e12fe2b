package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

type exampleTenant struct{}

// Metadata is stored with each event of a command. Here it comes from the context of the caller.
func ExampleOptions_metadata() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	accounts, end := openAccounts(ctx, journal, entity.Options{
		Metadata: func(ctx context.Context) map[string]string {
			tenant, _ := ctx.Value(exampleTenant{}).(string)
			return map[string]string{"tenant": tenant}
		},
	})
	defer end()
	_, err := entity.Do(context.WithValue(ctx, exampleTenant{}, "north"), accounts, "anna", deposit(100))
	check(err)

	for event, err := range journal.Events(ctx, "account|anna", dynajournal.Range{}) {
		check(err)
		fmt.Println(event.SequenceNumber, event.SerializerManifest, event.Metadata)
	}
	// Output: 1 deposited map[tenant:north]
}
