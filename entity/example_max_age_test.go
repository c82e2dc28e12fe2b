package entity_test

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/entity"
)

// A page that may be a minute old needs no request while the state in memory is at most a minute
// old. InMemory shows the state in memory, however old it is.
func ExampleMaxAge() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx)
	defer end()
	one, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	two, end := openAccounts(ctx, journal, entity.Options{})
	defer end()
	_, err := entity.Do(ctx, one, "anna", deposit(100)) // one has this state in memory from now on
	check(err)
	_, err = entity.Do(ctx, two, "anna", deposit(1))
	check(err)

	show := func(a Account) error {
		fmt.Println("balance", a.Balance)
		return nil
	}
	_, err = one.View(ctx, "anna", show, entity.MaxAge(time.Minute))
	check(err)
	_, err = one.View(ctx, "anna", show, entity.InMemory)
	check(err)
	_, err = one.View(ctx, "anna", show)
	check(err)
	// Output:
	// balance 100
	// balance 100
	// balance 101
}
