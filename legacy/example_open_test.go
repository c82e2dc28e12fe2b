package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
)

// This example writes and reads a journal in the layout of 2014, which has no atomic writes of
// several events.
func ExampleOpen() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	config := legacy.Config{Layout: legacy.HashKey, Journal: dynajournal.Config{AWS: engine.AWSConfig(), SequenceShards: 10}}
	if err := legacy.CreateTable(ctx, config); err != nil { // an existing table stays as it is
		log.Fatal(err)
	}
	journal, err := legacy.Open(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer journal.Close()

	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = writer.Append(ctx, "opened", "deposited")
	fmt.Println("atomic:", errors.Is(err, legacy.ErrNotAtomic))
	if _, err := writer.AppendEach(ctx, "opened", "deposited"); err != nil {
		log.Fatal(err)
	}
	for event, err := range journal.Events(ctx, "account-1", dynajournal.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		text, err := dynajournal.Decode[string](ctx, event.Event)
		fmt.Println(event.SequenceNumber, text, err)
	}
	// Output:
	// atomic: true
	// 1 opened <nil>
	// 2 deposited <nil>
}
