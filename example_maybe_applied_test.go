package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// After an error a program needs to know whether its events may be stored. Here the write is done,
// and every response is lost.
func ExampleMaybeApplied() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	writer := recoverExample(ctx, journal, "account-1", 1)

	_, err = writer.Append(ctx, struct{}{}) // it has no serializer
	fmt.Println("rejected, may be applied:", dynajournal.MaybeApplied(err))

	remove, err := engine.Inject(embedded.Fault{Effect: embedded.EffectReset, Applied: true, Operation: "PutItem"})
	check(err)
	_, err = writer.Append(ctx, "deposited")
	fmt.Println("lost, may be applied:", dynajournal.MaybeApplied(err))
	remove()

	_, err = journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		fmt.Println("found", e.SequenceNumber)
		return nil
	})
	check(err)
	// Output:
	// rejected, may be applied: false
	// lost, may be applied: true
	// found 1
	// found 2
}
