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

// UpdateOptions select what Update adds beside what every journal needs.
type UpdateOptions struct {
	// Projections adds the table of package projection, Stream a stream of new images.
	Projections, Stream bool
}

// updating is an update of the tables of a journal.
type updating struct {
	*Journal

	client *dynamo.Client
	table  *types.TableDescription
	// like are the options with which the journal table would be made.
	like    Options
	changes []Change
}

// Update adds what an existing journal table lacks: the index of persistence ids and the expiry of
// tombstones, and what the options ask for. It returns what it has added.
func (j *Journal) Update(ctx context.Context, client *dynamo.Client, opts UpdateOptions) ([]Change, error) {
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
	u := &updating{Journal: j, client: client, table: table}
	u.like.SharedWithJVM = header.Kind == layout.KindShared
	if t := table.ProvisionedThroughput; t != nil && aws.ToInt64(t.WriteCapacityUnits) > 0 {
		u.like.ReadUnits, u.like.WriteUnits = aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits)
	}
	steps := []func(context.Context) error{u.expiry}
	if opts.Stream {
		steps = append(steps, u.stream)
	}
	if opts.Projections {
		steps = append(steps, u.projections)
	}
	for _, step := range append(steps, u.index) { // filling the index takes the longest
		if err := step(ctx); err != nil {
			return u.changes, err
		}
	}
	return u.changes, nil
}

func (u *updating) added(table, what, costs string) {
	u.changes = append(u.changes, Change{table, what, costs})
}

// expiry adds the expiry of tombstones, unless items of the table already expire.
func (u *updating) expiry(ctx context.Context) error {
	enabled, err := enableTTL(ctx, u.client, u.table)
	if err != nil || !enabled {
		return err
	}
	u.added(u.Table, "expiry of items by attribute "+layout.AttrExpires,
		"nothing: DynamoDB removes expired items for free")
	return nil
}

// stream adds a stream, unless the table has one.
func (u *updating) stream(ctx context.Context) error {
	enabled, table, err := u.enableStream(ctx, u.client, u.table)
	if err != nil || !enabled {
		return err
	}
	u.table = table
	u.added(u.Table, "a stream of new images", "writers nothing; readers pay for each request GetRecords, "+
		"of which an idle projection sends 4 a second for each shard")
	return nil
}

// projections adds the projections table, or checks the existing one.
func (u *updating) projections(ctx context.Context) error {
	made, err := u.createProjectionsTable(ctx, u.client, u.like)
	if made && err == nil {
		u.added(ProjectionsTable(u.Table), "the table of projections",
			"nothing until projections run: then what they read and write there")
	}
	return err
}

// index adds the index of persistence ids of the journal's kind, and waits until it is filled,
// whoever has added it.
func (u *updating) index(ctx context.Context) error {
	costs := "a write unit more for the first event of a persistence id and for each deletion; filling it costs a write unit for each persistence id"
	if u.like.SharedWithJVM {
		costs = "a write unit more for every item that is written or deleted; filling it costs a write unit for each item of the table"
	}
	want := u.journalTable(u.like)
	index := want.GlobalSecondaryIndexes[0]
	name := aws.ToString(index.IndexName)
	switch indexStatus(u.table, name) {
	case indexNone, string(types.IndexStatusCreating), string(types.IndexStatusDeleting):
	default:
		return nil
	}
	created, _, err := u.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:            &u.Table,
		AttributeDefinitions: want.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:             index.IndexName,
			KeySchema:             index.KeySchema,
			Projection:            index.Projection,
			ProvisionedThroughput: index.ProvisionedThroughput,
		}}},
	}, func(d *types.TableDescription) bool {
		status := indexStatus(d, name)
		return status != indexNone && status != string(types.IndexStatusDeleting)
	})
	if created {
		u.added(u.Table, "index "+name, costs)
	}
	return err
}
