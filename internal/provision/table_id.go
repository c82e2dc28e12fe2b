package provision

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// TableID returns the id of a table. A restore from a backup creates a new table, which has another
// id:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html
//
// The id is empty for a table with replicas in other Regions, because each replica is a table with
// its own id. It is also empty if the service does not give tables an id.
func TableID(ctx context.Context, client *dynamo.Client, table string) (string, error) {
	d, err := client.DescribeExistingTable(ctx, table)
	if err != nil {
		return "", err
	}
	return tableID(d), nil
}

func tableID(d *types.TableDescription) string {
	if len(d.Replicas) > 0 {
		return ""
	}
	return aws.ToString(d.TableId)
}
