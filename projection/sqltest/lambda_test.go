package sqltest_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// lambdaEvent is an event for an insertion for the persistence id a, from a stream with only keys.
const lambdaEvent = `{"Records":[{"eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{
"Keys":{"par":{"S":"journal-P-a-0"},"num":{"N":"1"}},"SequenceNumber":"100000000000000000001"},
"eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/pekko-persistence/stream/x"}]}`

// Each attempt is made by another process, and is counted in the row of the projections table.
func TestAttemptsOnLambdaAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "poison", "z")
		var calls atomic.Int64
		var cured atomic.Bool
		config := fast()
		config.Source = awslambda.Source(awslambda.Options{})
		config.Attempts, config.RetryShortest, config.RetryLongest = 3, time.Hour, time.Hour
		launch := func() *projection.Group {
			return b.group(b.open(), config, sqlprojection.New("effects", b.db, b.dialect, ledger{
				on: func(_ context.Context, _ *sql.Tx, e dynajournal.Event) error {
					if e.SequenceNumber == 2 && !cured.Load() {
						calls.Add(1)
						return errWanted
					}
					return nil
				},
			}))
		}
		ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
		response, err := awslambda.Handler(launch())(ctx, json.RawMessage(lambdaEvent))
		cancel()
		if err != nil || len(response.BatchItemFailures) > 0 {
			b.Fatalf("after %d calls: %+v, %v", calls.Load(), response, err)
		}
		for i := range 2 {
			b.makeDue("a")
			if err := awslambda.Maintain(b.Context(), launch()); err != nil || calls.Load() != int64(i+2) {
				b.Fatalf("payment %d, after %d calls: %v", i+1, calls.Load(), err)
			}
		}
		if stuck := b.stuckness("a"); stuck.Offset != 1 {
			b.Errorf("%+v", stuck)
		}
		b.wantEffects("a", "1 x")
		cured.Store(true)
		if err := launch().Resume(b.Context(), "effects", "a"); err != nil {
			b.Fatal(err)
		}
		b.wantEffects("a", "1 x", "2 poison", "3 z")
	})
}

// makeDue makes the debt of a persistence id due.
func (b *bundle) makeDue(pid string) {
	b.Helper()
	_, err := dynamodb.NewFromConfig(b.engine.AWSConfig()).UpdateItem(b.Context(), &dynamodb.UpdateItemInput{
		TableName:           aws.String(dynajournal.DefaultJournalTable + "-projections"),
		Key:                 map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal\x00group/effects\x00" + pid}},
		UpdateExpression:    aws.String("SET due = :now"),
		ConditionExpression: aws.String("attribute_exists(debt)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": &types.AttributeValueMemberN{Value: "0"},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
}
