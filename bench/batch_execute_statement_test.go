package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statements is the number of INSERTs in one BatchExecuteStatement.
const statements = 25

func insertBatch(client *dynamodb.Client) func(context.Context, int64) error {
	text := aws.String(`INSERT INTO "` + tableName + `" VALUE {'pk':?,'sk':?,'payload':?}`)
	return func(ctx context.Context, n int64) error {
		batch := make([]types.BatchStatementRequest, statements)
		for i := range batch {
			// These items differ from the items that PutItem writes, because an INSERT needs new
			// items.
			fresh := item(1<<40 + n*statements + int64(i))
			batch[i] = types.BatchStatementRequest{Statement: text,
				Parameters: []types.AttributeValue{fresh["pk"], fresh["sk"], fresh["payload"]}}
		}
		done, err := client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: batch})
		if err != nil {
			return err
		}
		for _, response := range done.Responses {
			if response.Error != nil {
				return fmt.Errorf("a statement: %s", aws.ToString(response.Error.Message))
			}
		}
		return nil
	}
}

// BenchmarkInsertsInBatches compares the items per second of BatchExecuteStatement and PutItem over
// loopback.
func BenchmarkInsertsInBatches(b *testing.B) {
	client := overLoopback(b, openTable(b, memory))
	compareTwo(b, callers,
		&candidate{name: "batched", do: insertBatch(client), items: statements},
		&candidate{name: "single", do: put(client), items: 1})
}
