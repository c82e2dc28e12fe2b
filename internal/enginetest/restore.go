package enginetest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Restore replaces a table with a new table of the same name, key and indexes that has only items,
// like a restore from a backup.
func Restore(tb testing.TB, client *dynamodb.Client, table string, items []map[string]types.AttributeValue) {
	tb.Helper()
	old, err := client.DescribeTable(tb.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := client.DeleteTable(tb.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		tb.Fatal(err)
	}
	in := &dynamodb.CreateTableInput{
		TableName: &table, KeySchema: old.Table.KeySchema, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: old.Table.AttributeDefinitions,
	}
	for i := range old.Table.GlobalSecondaryIndexes {
		index := &old.Table.GlobalSecondaryIndexes[i]
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		})
	}
	if _, err := client.CreateTable(tb.Context(), in); err != nil {
		tb.Fatal(err)
	}
	for _, item := range items {
		if _, err := client.PutItem(tb.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			tb.Fatal(err)
		}
	}
}
