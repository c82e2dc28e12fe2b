package provision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// checkSchema fails unless a table has the key of a journal: par, a string, and a numeric range
// key.
func checkSchema(t *types.TableDescription, rangeKey string) error {
	hash := layout.AttrPar
	want := []types.KeySchemaElement{
		{AttributeName: &hash, KeyType: types.KeyTypeHash},
		{AttributeName: &rangeKey, KeyType: types.KeyTypeRange},
	}
	typed := map[string]types.ScalarAttributeType{hash: types.ScalarAttributeTypeS,
		rangeKey: types.ScalarAttributeTypeN}
	same := slices.EqualFunc(t.KeySchema, want, func(a, b types.KeySchemaElement) bool {
		return aws.ToString(a.AttributeName) == aws.ToString(b.AttributeName) && a.KeyType == b.KeyType
	})
	for _, d := range t.AttributeDefinitions {
		if wanted, ok := typed[aws.ToString(d.AttributeName)]; ok && wanted != d.AttributeType {
			same = false
		}
	}
	if !same {
		return fmt.Errorf("%w: table %q needs hash key %s (S) and range key %s (N), it has %s",
			ErrTableSchema, aws.ToString(t.TableName), hash, rangeKey, describeSchema(t))
	}
	return nil
}

// describeSchema describes the key of a table for an error.
func describeSchema(t *types.TableDescription) string {
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range t.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	var parts []string
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		parts = append(parts, fmt.Sprintf("%s key %s (%s)", strings.ToLower(string(k.KeyType)), name, kinds[name]))
	}
	return strings.Join(parts, " and ")
}

// keyLimit returns the smallest limit of the attribute par in bytes: the limit of a partition key,
// or of a sort key if par is the sort key of an index.
func keyLimit(t *types.TableDescription) int {
	for i := range t.GlobalSecondaryIndexes {
		for _, k := range t.GlobalSecondaryIndexes[i].KeySchema {
			if aws.ToString(k.AttributeName) == layout.AttrPar && k.KeyType == types.KeyTypeRange {
				return layout.MaxRangeKeyBytes
			}
		}
	}
	return layout.MaxKeyBytes
}

// indexNone is the status of an index that a table does not have.
const indexNone = "NONE"

// indexStatus returns DynamoDB's status of the index with a name. It is empty for a local index,
// and indexNone if the table has no such index. The key of the index does not matter.
func indexStatus(d *types.TableDescription, name string) string {
	for _, i := range newTable(aws.ToString(d.TableName), d).Indexes {
		if i.Name == name {
			return i.Status
		}
	}
	return indexNone
}

// hasIndex reports whether a table has an index with a name. The key of the index does not matter.
func hasIndex(d *types.TableDescription, name string) bool { return indexStatus(d, name) != indexNone }

// journalTable returns the request that creates the journal table.
func (j *Journal) journalTable(opts Options) *dynamodb.CreateTableInput {
	in := table(j.Table, layout.AttrNum, opts)
	index := types.GlobalSecondaryIndex{
		Projection:            &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		ProvisionedThroughput: in.ProvisionedThroughput,
	}
	if opts.SharedWithJVM {
		// The index has no range key: as a range key, par would limit persistence ids to half the
		// length.
		index.IndexName = &j.IDsIndex
		index.KeySchema = keySchema(layout.AttrNum, "")
	} else {
		index.IndexName = aws.String(layout.NativeIDsIndex)
		index.KeySchema = keySchema(layout.AttrIDsShard, layout.AttrIDsKey)
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			definition(layout.AttrIDsShard, types.ScalarAttributeTypeN),
			definition(layout.AttrIDsKey, types.ScalarAttributeTypeS))
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{index}
	return in
}

// snapshotTable returns the request that creates the snapshot table.
func (j *Journal) snapshotTable(opts Options) *dynamodb.CreateTableInput {
	in := table(j.SnapshotTable, layout.AttrSnapshotSeq, opts)
	if opts.SharedWithJVM {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			definition(layout.AttrSnapshotTS, types.ScalarAttributeTypeN))
		in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{
			IndexName:  aws.String(layout.SnapshotTSIndex),
			KeySchema:  keySchema(layout.AttrPar, layout.AttrSnapshotTS),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}
	}
	return in
}

// table returns a request for a table with hash key par and a numeric range key.
func table(name, rangeKey string, opts Options) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name,
		KeySchema: keySchema(layout.AttrPar, rangeKey),
		AttributeDefinitions: []types.AttributeDefinition{definition(layout.AttrPar, types.ScalarAttributeTypeS),
			definition(rangeKey, types.ScalarAttributeTypeN)},
	}
	bill(in, opts)
	return in
}

// bill sets how a table is billed: by its requests, or by its provisioned capacity.
func bill(in *dynamodb.CreateTableInput, opts Options) {
	in.BillingMode = types.BillingModePayPerRequest
	if opts.ReadUnits > 0 {
		in.BillingMode = types.BillingModeProvisioned
		in.ProvisionedThroughput = &types.ProvisionedThroughput{
			ReadCapacityUnits: &opts.ReadUnits, WriteCapacityUnits: &opts.WriteUnits,
		}
	}
}

func keySchema(hash, rng string) []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
	if rng != "" {
		schema = append(schema, types.KeySchemaElement{AttributeName: &rng, KeyType: types.KeyTypeRange})
	}
	return schema
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
}
