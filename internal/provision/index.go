package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// FindIndex reports whether the journal table has the index of persistence ids. The error is
// ErrIndex for an index that can't be used, and for a missing index with another name than the
// default.
func (j *Journal) FindIndex(ctx context.Context, client *dynamo.Client, native bool) (bool, error) {
	table, err := client.DescribeTable(ctx, j.Table)
	if err != nil {
		return false, err
	}
	return j.findIndex(table, native)
}

func (j *Journal) findIndex(table *types.TableDescription, native bool) (bool, error) {
	if native {
		return usableIndex(table, layout.NativeIDsIndex, layout.AttrIDsShard, []string{layout.AttrIDsKey})
	}
	name := j.IDsIndex
	found, err := usableIndex(table, name, layout.AttrNum, []string{"", layout.AttrPar})
	if err == nil && !found && name != layout.SharedIDsIndex {
		err = fmt.Errorf("%w: table %q has no index %q, which Config.IDsIndexName names", ErrIndex, j.Table, name)
	}
	return found, err
}

// usableIndex reports whether a table has an index with a name. If the index has another key or is
// still being filled, the error is ErrIndex. ranges has the allowed range keys; "" is an index
// without a range key.
func usableIndex(table *types.TableDescription, name, hash string, ranges []string) (bool, error) {
	for i := range table.GlobalSecondaryIndexes {
		index := &table.GlobalSecondaryIndexes[i]
		if aws.ToString(index.IndexName) != name {
			continue
		}
		schema := map[types.KeyType]string{}
		for _, k := range index.KeySchema {
			schema[k.KeyType] = aws.ToString(k.AttributeName)
		}
		switch {
		case schema[types.KeyTypeHash] != hash || !slices.Contains(ranges, schema[types.KeyTypeRange]):
			return false, fmt.Errorf("%w: index %q has hash key %q and range key %q, not hash key %q and a range key of %q",
				ErrIndex, name, schema[types.KeyTypeHash], schema[types.KeyTypeRange], hash, ranges)
		case index.IndexStatus != types.IndexStatusActive || aws.ToBool(index.Backfilling):
			return false, fmt.Errorf("%w: index %q is %s, it is still being filled or removed",
				ErrIndex, name, index.IndexStatus)
		}
		return true, nil
	}
	return false, nil
}
