package entitytest_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

// Another process writes. The entity still has the old state in memory, so its next write
// conflicts: the command is decided again on the events of the other process.
func ExampleJournal_Conflict() {
	ctx := context.Background()
	t := &printer{} // in a test, its *testing.T
	defer t.end()
	j := entitytest.OpenJournal(t, exampleRegistry())
	accounts, err := entity.Open(j.Journal, accountType(), entity.Options{})
	check(err)
	t.Cleanup(func() { _ = accounts.Close(ctx) })
	_, err = entity.Do(ctx, accounts, "anna", deposit(100))
	check(err)

	j.Conflict("account|anna", Withdrawn{60})
	balance, err := entity.Do(ctx, accounts, "anna", withdraw(30))
	fmt.Println("balance", balance, err, "conflicts", accounts.Stats().Conflicts)
	// Output: balance 10 <nil> conflicts 1
}
