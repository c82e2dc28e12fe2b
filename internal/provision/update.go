package provision

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Change is something that Update has added.
type Change struct {
	Table string
	// Added is what was added, Costs its future cost.
	Added, Costs string
}

// Update adds what an existing journal table lacks: the index of persistence ids and the expiry of
// tombstones. It returns what it has added.
func (j *Journal) Update(ctx context.Context, client *dynamo.Client) ([]Change, error) {
	table, err := client.DescribeTable(ctx, j.Table)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(table, layout.AttrNum); err != nil {
		return nil, err
	}
	header, err := j.readHeader(ctx, client, table)
	if err != nil {
		return nil, err
	}
	var changes []Change
	ttl, err := client.TTL(ctx, j.Table)
	if err != nil {
		return nil, err
	}
	if ttl == "" {
		if err := client.EnableTTL(ctx, j.Table, layout.AttrExpires); err != nil {
			return nil, err
		}
		changes = append(changes, Change{j.Table, "expiry of items by attribute " + layout.AttrExpires,
			"nothing: DynamoDB removes expired items for free"})
	}
	opts := Options{SharedWithJVM: header.Kind == layout.KindShared}
	costs := "a write unit more for the first event of a persistence id and for each deletion; filling it costs a write unit for each persistence id"
	if opts.SharedWithJVM {
		costs = "a write unit more for every item that is written or deleted; filling it costs a write unit for each item of the table"
	}
	if t := table.ProvisionedThroughput; t != nil && aws.ToInt64(t.WriteCapacityUnits) > 0 {
		opts.ReadUnits, opts.WriteUnits = aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits)
	}
	want := j.journalTable(opts)
	index := want.GlobalSecondaryIndexes[0]
	if hasIndex(table, aws.ToString(index.IndexName)) {
		return changes, nil
	}
	err = client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:            &j.Table,
		AttributeDefinitions: want.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:             index.IndexName,
			KeySchema:             index.KeySchema,
			Projection:            index.Projection,
			ProvisionedThroughput: index.ProvisionedThroughput,
		}}},
	})
	if err != nil {
		return changes, err
	}
	return append(changes, Change{j.Table, "index " + aws.ToString(index.IndexName), costs}), nil
}
