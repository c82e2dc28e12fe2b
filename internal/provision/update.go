package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Change describes an addition by Update.
type Change struct {
	Table string
	// Added describes the addition. Costs describes its future cost.
	Added, Costs string
}

// UpdateOptions selects additions that not every journal needs.
type UpdateOptions struct {
	// Projections adds the table of package projection. Stream adds a stream of new images.
	Projections, Stream bool
}

// updating is an update of the tables of a journal.
type updating struct {
	*Journal

	client *dynamo.Client
	table  *types.TableDescription
	header layout.Header
	// like has the options that would create the journal table as it is.
	like Options
	// projects reports whether the projections table exists.
	projects bool
	changes  []Change
}

// Update adds the index of persistence ids and the expiry of tombstones to an existing journal
// table, if they are missing, and what opts selects. It raises the format version of a native
// journal. It returns its additions, even with an error.
func (j *Journal) Update(ctx context.Context, client *dynamo.Client, opts UpdateOptions) ([]Change, error) {
	table, err := client.DescribeTable(ctx, j.Table)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(table, layout.AttrNum); err != nil {
		return nil, err
	}
	header, err := j.readHeader(ctx, client, table)
	outdated := errors.Is(err, errOutdated)
	if err != nil && !outdated {
		return nil, err
	}
	u := &updating{Journal: j, client: client, table: table, header: header}
	u.like.SharedWithJVM = header.Kind == layout.KindShared
	if t := capacityOf(table); t != nil {
		u.like.ReadUnits, u.like.WriteUnits = *t.ReadCapacityUnits, *t.WriteCapacityUnits
	}
	var steps []func(context.Context) error
	if outdated { // first, so that no process of the earlier version can start from then on
		steps = append(steps, u.version)
	}
	steps = append(steps, u.expiry)
	if opts.Stream {
		steps = append(steps, u.stream)
	}
	if opts.Projections {
		steps = append(steps, u.projections)
	}
	steps = append(steps, u.debts)
	// Filling an index and scanning a table take the longest.
	for _, step := range append(steps, u.index, u.stuckMarks) {
		if err := step(ctx); err != nil {
			return u.changes, err
		}
	}
	return u.changes, nil
}

func (u *updating) added(table, what, costs string) {
	u.changes = append(u.changes, Change{table, what, costs})
}

// version raises the format version of a native journal.
func (u *updating) version(ctx context.Context) error {
	raised, err := u.raiseVersion(ctx, u.client, u.header)
	if err != nil || !raised {
		return err
	}
	u.added(u.Table, fmt.Sprintf("format version %d of journal %q", layout.NativeVersion, u.Name),
		"nothing; earlier versions of this program can't open the journal any more, and this version must not "+
			"for 15 minutes")
	return nil
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

// debts adds the index of debts to the projections table, if the table exists.
func (u *updating) debts(ctx context.Context) error {
	table, err := u.client.DescribeTable(ctx, ProjectionsTable(u.Table))
	if errors.Is(err, dynamo.ErrTableNotFound) {
		return nil
	}
	if err == nil {
		err = checkProjectionsSchema(table)
	}
	if err != nil {
		return err
	}
	u.projects = true
	return u.addIndex(ctx, table, u.projectionsTable(u.like), "nothing while projections keep up; "+
		"6 or 7 write units for a persistence id that a projection can't handle for some seconds, and that is handled later; "+
		"half a read unit every 10 seconds for each projection in each process")
}

// index adds the index of persistence ids for the journal's kind. It waits until the index is
// filled, even if another process has added it.
func (u *updating) index(ctx context.Context) error {
	costs := "a write unit more for the first event of a persistence id and for each deletion; filling it costs a write unit for each persistence id"
	if u.like.SharedWithJVM {
		costs = "a write unit more for every item that is written or deleted; filling it costs a write unit for each item of the table"
	}
	return u.addIndex(ctx, u.table, u.journalTable(u.like), costs)
}

// addIndex adds the index of want to a table, unless the table has it, and waits until the index is
// filled.
func (u *updating) addIndex(
	ctx context.Context, table *types.TableDescription, want *dynamodb.CreateTableInput, costs string,
) error {
	index := want.GlobalSecondaryIndexes[0]
	name := aws.ToString(index.IndexName)
	switch indexStatus(table, name) {
	case indexNone, string(types.IndexStatusCreating), string(types.IndexStatusDeleting):
	default:
		return nil
	}
	created, _, err := u.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:            want.TableName,
		AttributeDefinitions: want.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:             index.IndexName,
			KeySchema:             index.KeySchema,
			Projection:            index.Projection,
			ProvisionedThroughput: capacityOf(table),
		}}},
	}, func(d *types.TableDescription) bool {
		status := indexStatus(d, name)
		return status != indexNone && status != string(types.IndexStatusDeleting)
	})
	if created {
		u.added(aws.ToString(want.TableName), "index "+name, costs)
	}
	return err
}

// capacityOf returns the provisioned capacity of a table, or nil for a table on demand. An index
// gets the same capacity.
func capacityOf(table *types.TableDescription) *types.ProvisionedThroughput {
	t := table.ProvisionedThroughput
	if t == nil || aws.ToInt64(t.WriteCapacityUnits) == 0 {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: t.ReadCapacityUnits, WriteCapacityUnits: t.WriteCapacityUnits}
}
