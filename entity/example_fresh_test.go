package entity_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
)

// A command that refuses writes nothing, so it does not find out that the state in memory is old.
// If that matters, use Fresh, which checks first.
func ExampleFresh() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	one, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	two, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	_, err := entity.Do(ctx, one, "anna", deposit(10))
	check(err)
	_, err = entity.Do(ctx, two, "anna", deposit(100))
	check(err)

	_, err = entity.Do(ctx, one, "anna", withdraw(50))
	fmt.Println(err)
	balance, err := entity.Do(ctx, one, "anna", withdraw(50), entity.Fresh())
	fmt.Println(balance, err)
	// Output:
	// insufficient funds
	// 60 <nil>
}
