package provision

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// projectionsSuffix follows the name of the journal table in the name of its projections table.
const projectionsSuffix = "-projections"

// DebtsIndex is the name of the index of the projections table that lists debts: the persistence
// ids that have a debt. AttrDebt and AttrDue are its key. AttrDebt names the projection. AttrDue is
// when the run is due, in milliseconds since 1970. The index also has AttrSince, when the debt was
// stored.
//
// Only rows with a debt have AttrDebt, so the index has no other rows.
const (
	DebtsIndex = "debts"
	AttrDebt   = "debt"
	AttrDue    = "due"
	AttrSince  = "since"
)

// ProjectionsTable returns the name of the projections table of a journal table.
func ProjectionsTable(journalTable string) string { return journalTable + projectionsSuffix }

// createProjectionsTable creates the projections table, or checks the existing one, and reports
// whether it has created the table. The table has a row for each projection and persistence id, and
// no range key.
func (j *Journal) createProjectionsTable(ctx context.Context, client *dynamo.Client, opts Options) (bool, error) {
	made, table, err := client.CreateTable(ctx, j.projectionsTable(opts))
	if err != nil {
		return made, err
	}
	return made, checkProjectionsSchema(table)
}

// projectionsTable returns the request that creates the projections table.
func (j *Journal) projectionsTable(opts Options) *dynamodb.CreateTableInput {
	name := ProjectionsTable(j.Table)
	in := &dynamodb.CreateTableInput{
		TableName: &name,
		KeySchema: keySchema(layout.AttrPar, ""),
		AttributeDefinitions: []types.AttributeDefinition{
			definition(layout.AttrPar, types.ScalarAttributeTypeS),
			definition(AttrDebt, types.ScalarAttributeTypeS),
			definition(AttrDue, types.ScalarAttributeTypeN),
		},
	}
	bill(in, opts)
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String(DebtsIndex),
		KeySchema: keySchema(AttrDebt, AttrDue),
		Projection: &types.Projection{
			ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{AttrSince},
		},
		ProvisionedThroughput: in.ProvisionedThroughput,
	}}
	return in
}

// CheckProjectionsTable checks that the projections table of a journal table exists and has the
// right key. The error is ErrTableNotFound or ErrTableSchema.
func CheckProjectionsTable(ctx context.Context, client *dynamo.Client, journalTable string) error {
	table, err := client.DescribeTable(ctx, ProjectionsTable(journalTable))
	if err != nil {
		return err
	}
	return checkProjectionsSchema(table)
}

func checkProjectionsSchema(table *types.TableDescription) error {
	keys := newTable(aws.ToString(table.TableName), table).Keys
	if len(keys) == 1 && keys[0] == (KeyAttribute{layout.AttrPar, string(types.ScalarAttributeTypeS)}) {
		return nil
	}
	return fmt.Errorf("%w: table %q needs hash key %s (S) and no range key, it has %s",
		ErrTableSchema, aws.ToString(table.TableName), layout.AttrPar, describeSchema(table))
}

// Stream is the stream of a journal table.
type Stream struct {
	ARN string
	// Replicas is the number of the table's replicas in other Regions.
	Replicas int
}

// FindStream returns the stream of a journal table. Its ARN is empty if no stream is enabled.
func FindStream(ctx context.Context, client *dynamo.Client, journalTable string) (Stream, error) {
	table, err := client.DescribeTable(ctx, journalTable)
	if err != nil {
		return Stream{}, err
	}
	return streamOf(table), nil
}

// streamOf returns the stream of a table with the description d.
func streamOf(d *types.TableDescription) Stream {
	found := Stream{Replicas: len(d.Replicas)}
	if s := d.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		found.ARN = aws.ToString(d.LatestStreamArn)
	}
	return found
}

// enableStream enables a stream of new images on the journal table with the description d, unless
// the table has a stream. It reports whether it has enabled a stream, and returns the table's
// description.
func (j *Journal) enableStream(
	ctx context.Context, client *dynamo.Client, d *types.TableDescription,
) (bool, *types.TableDescription, error) {
	hasStream := func(d *types.TableDescription) bool { return streamOf(d).ARN != "" }
	if hasStream(d) {
		return false, d, nil
	}
	return client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &j.Table,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
		},
	}, hasStream)
}
