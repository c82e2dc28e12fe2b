package entitytest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

// A journal in memory fails on demand: first responses are lost, and then writes are throttled.
func ExampleOpenJournal() {
	ctx := context.Background()
	t := &printer{} // in a test, its *testing.T
	defer t.end()
	j := entitytest.OpenJournal(t, exampleRegistry())
	accounts, err := entity.Open(j.Journal, accountType(), entity.Options{})
	check(err)
	t.Cleanup(func() { _ = accounts.Close(ctx) })

	stop := j.LoseResponses()
	balance, err := entity.Do(ctx, accounts, "anna", deposit(100))
	fmt.Println("lost responses:", balance, err)
	stop()

	stop = j.Throttle()
	_, err = entity.Do(ctx, accounts, "anna", deposit(100))
	fmt.Println("throttled:", errors.Is(err, dynajournal.ErrThrottled), "may be stored:", dynajournal.MaybeApplied(err))
	stop()
	// Output:
	// lost responses: 100 <nil>
	// throttled: true may be stored: false
}
