// Command lambda is a function for AWS Lambda that maintains the balances of accounts in a DynamoDB
// table. An event source mapping sends it the stream of the journal table. Each event is added
// exactly once, regardless of failures: the function returns the first record that is not done, and
// Lambda sends this record and the records after it again.
//
// It is a separate module because of its dependency on the Lambda library. Build it for the runtime
// provided.al2023:
//
//	cd examples/lambda && GOOS=linux GOARCH=arm64 go build -o bootstrap .
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strconv"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
	"github.com/dynajournal/dynajournal/serialization"
)

// Changed is the event of an account.
type Changed struct{ By int }

// balancesTable has the balances. Its key is the text account.
const balancesTable = "balances"

// known returns a registry with the events that this version of the function knows.
func known() (*serialization.Registry, error) {
	events := serialization.NewRegistry()
	return events, serialization.JSON[Changed](events, "changed")
}

// add returns the write that adds an event to the balance of its account. The group executes it in
// one transaction with the offset.
func add(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error) {
	changed, err := dynajournal.Decode[Changed](ctx, event)
	if err != nil {
		return nil, fmt.Errorf("event %d of %q: %w", event.SequenceNumber, event.PersistenceID, err)
	}
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:        aws.String(balancesTable),
		Key:              map[string]types.AttributeValue{"account": &types.AttributeValueMemberS{Value: event.PersistenceID}},
		UpdateExpression: aws.String("ADD balance :by"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":by": &types.AttributeValueMemberN{Value: strconv.Itoa(changed.By)},
		},
	}}}, nil
}

// newGroup returns the group of the function. Call it once in a process, for all invocations.
func newGroup(journal *dynajournal.Journal, handle projection.TransactionalFunc) (*projection.Group, error) {
	return projection.New(journal, projection.Config{
		Name:   "bank",
		Source: awslambda.Source(awslambda.Options{}),
	}, projection.Transactional("balances", handle))
}

// newHandler returns the handler of the function. The mapping sends it records of the stream, and a
// schedule of EventBridge sends it an event every few minutes.
func newHandler(group *projection.Group) func(context.Context, json.RawMessage) (any, error) {
	records := awslambda.Handler(group)
	return func(ctx context.Context, event json.RawMessage) (any, error) {
		var scheduled struct{ Source string }
		if err := json.Unmarshal(event, &scheduled); err == nil && scheduled.Source == "aws.events" {
			return nil, awslambda.Maintain(ctx, group)
		}
		return records(ctx, event)
	}
}

func main() {
	ctx := context.Background()
	account, err := config.LoadDefaultConfig(ctx)
	check(err)
	events, err := known()
	check(err)
	journal, err := dynajournal.Open(ctx, dynajournal.Config{AWS: account, Serialization: events})
	check(err)
	group, err := newGroup(journal, add)
	check(err)
	lambda.Start(newHandler(group))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
