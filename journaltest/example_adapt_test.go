package journaltest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/journaltest"
)

// The suite uses a journal through two small interfaces, with events of bytes. Adapt implements
// them for this project's journal. Other journals need a similar adapter.
func ExampleAdapt() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}); err != nil {
		log.Fatal(err)
	}
	opened, err := dynajournal.Open(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close()

	journal := journaltest.Adapt(opened)
	writer, err := journal.Recover(ctx, "account-1", journaltest.Replay{}, func(journaltest.Event) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	first, last, err := writer.Append(ctx, []byte("one"), []byte("two"))
	fmt.Println("appended", first, "to", last, err)
	for event, err := range journal.Events(ctx, "account-1", journaltest.Window{From: 2}) {
		fmt.Println(event.SequenceNumber, string(event.Payload), err)
	}
	// Output:
	// appended 1 to 2 <nil>
	// 2 two <nil>
}
