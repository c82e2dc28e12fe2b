package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// queried is the number of items that one Query returns.
const queried = 100

func query(client *dynamodb.Client) func(context.Context, int64) error {
	return func(ctx context.Context, _ int64) error {
		page, err := client.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(tableName), KeyConditionExpression: aws.String("pk = :p"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "entity-00000000"}},
		})
		if err == nil && len(page.Items) != queried {
			err = fmt.Errorf("a page of %d items", len(page.Items))
		}
		return err
	}
}

// BenchmarkQueryOf100Items compares the engine with a server that returns the same response to
// every request, over loopback.
func BenchmarkQueryOf100Items(b *testing.B) {
	engine := openTable(b, memory)
	fill := put(dynamodb.NewFromConfig(engine.AWSConfig()))
	for n := range int64(queried) {
		if err := fill(b.Context(), n*100_000); err != nil {
			b.Fatal(err)
		}
	}
	canned := record(b, engine, func(client *dynamodb.Client) error { return query(client)(b.Context(), 0) })
	compareTwo(b, callers,
		&candidate{name: "engine", do: query(overLoopback(b, engine)), items: 1},
		&candidate{name: "floor", do: query(overLoopback(b, canned)), items: 1})
}
