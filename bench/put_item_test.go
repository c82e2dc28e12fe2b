package bench_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item returns an item of itemBytes or slightly less.
func item(n int64) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk":      &types.AttributeValueMemberS{Value: fmt.Sprintf("entity-%08d", n%100_000)},
		"sk":      &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)},
		"payload": &types.AttributeValueMemberB{Value: payload},
	}
}

func put(client *dynamodb.Client) func(context.Context, int64) error {
	return func(ctx context.Context, n int64) error {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item(n)})
		return err
	}
}

func putOnce(b *testing.B) func(*dynamodb.Client) error {
	b.Helper()
	return func(client *dynamodb.Client) error { return put(client)(b.Context(), 0) }
}

// BenchmarkPutItemOverLoopback compares the engine with a server that returns the same response to
// every request.
func BenchmarkPutItemOverLoopback(b *testing.B) {
	engine := openTable(b, memory)
	canned := record(b, engine, putOnce(b))
	compareTwo(b, callers,
		&candidate{name: "engine", do: put(overLoopback(b, engine)), items: 1},
		&candidate{name: "floor", do: put(overLoopback(b, canned)), items: 1})
}

// BenchmarkPutItemInProcess compares the engine's transport with one that returns the same response
// to every request.
func BenchmarkPutItemInProcess(b *testing.B) {
	engine := openTable(b, memory)
	canned := record(b, engine, putOnce(b))
	compareTwo(b, callers,
		&candidate{name: "engine", do: put(dynamodb.NewFromConfig(engine.AWSConfig())), items: 1},
		&candidate{name: "floor", do: put(canned.inProcess(engine)), items: 1})
}
