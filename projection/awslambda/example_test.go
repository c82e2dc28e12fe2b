package awslambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// A function on AWS Lambda gets the records of the stream of the journal table. Its program calls
// lambda.Start(awslambda.Handler(group)), where lambda is a package of aws-lambda-go.
func ExampleHandler() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // in place of AWS
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true}); err != nil {
		log.Fatal(err)
	}
	journal, err := dynajournal.Open(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer journal.Close()
	writer, err := journal.Recover(ctx, "order|1", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := writer.Append(ctx, "paid"); err != nil {
		log.Fatal(err)
	}

	group, err := projection.New(journal, projection.Config{
		Name: "billing", Source: awslambda.Source(awslambda.Options{}),
	}, projection.AtLeastOnce("orders", projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error {
		state, err := dynajournal.Decode[string](ctx, e)
		fmt.Println(e.PersistenceID, e.SequenceNumber, state)
		return err
	})))
	if err != nil {
		log.Fatal(err)
	}
	event, err := os.ReadFile("testdata/event.json")
	if err != nil {
		log.Fatal(err)
	}
	response, err := awslambda.Handler(group)(ctx, event)
	if err != nil {
		log.Fatal(err)
	}
	sent, err := json.Marshal(response)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(sent))
	// Output:
	// order|1 1 paid
	// {"batchItemFailures":[]}
}
