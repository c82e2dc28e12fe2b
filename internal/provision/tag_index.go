package provision

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// CreateTagIndexTable creates a table for an index of tags, or checks the existing one, and returns
// its TableID. It has the same key attributes as the journal table, and the capacity
// of opts.
func CreateTagIndexTable(ctx context.Context, client *dynamo.Client, name string, opts Options) (string, error) {
	in := &dynamodb.CreateTableInput{
		TableName: &name,
		KeySchema: keySchema(layout.AttrPar, layout.AttrNum),
		AttributeDefinitions: []types.AttributeDefinition{
			definition(layout.AttrPar, types.ScalarAttributeTypeS), definition(layout.AttrNum, types.ScalarAttributeTypeN),
		},
	}
	bill(in, opts)
	_, table, err := client.CreateTable(ctx, in)
	if err != nil {
		return "", err
	}
	keys := newTable(name, table).Keys
	if len(keys) == 2 && keys[0] == (KeyAttribute{layout.AttrPar, string(types.ScalarAttributeTypeS)}) &&
		keys[1] == (KeyAttribute{layout.AttrNum, string(types.ScalarAttributeTypeN)}) {
		return tableID(table), nil
	}
	return "", fmt.Errorf("%w: table %q needs hash key %s (S) and range key %s (N), it has %s",
		ErrTableSchema, name, layout.AttrPar, layout.AttrNum, describeSchema(table))
}
