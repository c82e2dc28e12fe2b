package entity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// A client has lost a response, and sends its request again with the same key. Another process gets
// the repeated request and recognizes it.
func ExampleCommandID() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	one, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	two, end := openAccounts(ctx, journal, entity.Options{})
	defer end()

	for _, process := range []entity.Updater[Account, Event]{one, two} {
		balance, err := entity.Do(ctx, process, "anna", deposit(100), entity.CommandID("request-7"))
		if duplicate, ok := errors.AsType[*entity.DuplicateError](err); ok {
			fmt.Println("it was done before, and has led to version", duplicate.Version)
			continue
		}
		check(err)
		fmt.Println("the balance is", balance)
	}
	// Output:
	// the balance is 100
	// it was done before, and has led to version 1
}
