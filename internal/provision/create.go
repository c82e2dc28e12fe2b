package provision

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Options select the kind of tables.
type Options struct {
	// SharedWithJVM creates a journal that a JVM can use at the same time, otherwise a native one.
	SharedWithJVM bool
	// ReadUnits and WriteUnits are the provisioned capacity of each table and index. If both are 0,
	// the tables are on demand.
	ReadUnits, WriteUnits int64
	// Projections also creates the table of package projection.
	Projections bool
	// Stream enables a stream of new images on the journal table.
	Stream bool
}

// Create creates the journal table, the snapshot table, and the journal's header, unless they
// exist. Any number of callers can create the same tables at the same time.
func (j *Journal) Create(ctx context.Context, client *dynamo.Client, opts Options) error {
	made, table, err := client.CreateTable(ctx, j.journalTable(opts))
	if err == nil {
		_, err = enableTTL(ctx, client, table)
	}
	if err == nil && opts.Stream {
		_, table, err = j.enableStream(ctx, client, table)
	}
	var header *layout.Header
	if err == nil {
		header, err = j.missingHeader(ctx, client, table, opts, made)
	}
	if err != nil {
		return fmt.Errorf("create journal table %q: %w", j.Table, err)
	}
	if err := j.createSnapshotTable(ctx, client, opts); err != nil {
		return fmt.Errorf("create snapshot table %q: %w", j.SnapshotTable, err)
	}
	if opts.Projections {
		if _, err := j.createProjectionsTable(ctx, client, opts); err != nil {
			return fmt.Errorf("create projections table %q: %w", ProjectionsTable(j.Table), err)
		}
	}
	if header == nil {
		return nil
	}
	// The header comes last: a journal with a header has everything it needs.
	if err := j.putHeader(ctx, client, *header); err != nil {
		return fmt.Errorf("create journal table %q: %w", j.Table, err)
	}
	return nil
}

// createSnapshotTable creates the snapshot table, or checks the existing one.
func (j *Journal) createSnapshotTable(ctx context.Context, client *dynamo.Client, opts Options) error {
	_, table, err := client.CreateTable(ctx, j.snapshotTable(opts))
	if err != nil {
		return err
	}
	if err := checkSchema(table, layout.AttrSnapshotSeq); err != nil {
		return err
	}
	_, err = enableTTL(ctx, client, table)
	return err
}

// enableTTL enables the expiry of tombstones, or of purged states, unless items of the table
// already expire. It reports whether it has enabled the expiry. A table that is strongly consistent
// in several Regions has no time to live: there repair removes expired items.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
func enableTTL(ctx context.Context, client *dynamo.Client, table *types.TableDescription) (bool, error) {
	if replicationOf(table).Strong() {
		return false, nil
	}
	return client.EnableTTL(ctx, aws.ToString(table.TableName), layout.AttrExpires)
}
