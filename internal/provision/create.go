package provision

import (
	"context"
	"fmt"

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
// exist.
func (j *Journal) Create(ctx context.Context, client *dynamo.Client, opts Options) error {
	made, err := client.CreateTable(ctx, j.journalTable(opts))
	if err == nil {
		err = enableTTL(ctx, client, j.Table)
	}
	if err == nil && opts.Stream {
		err = j.enableStream(ctx, client)
	}
	var header *layout.Header
	if err == nil {
		header, err = j.missingHeader(ctx, client, opts, made)
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
	if _, err := client.CreateTable(ctx, j.snapshotTable(opts)); err != nil {
		return err
	}
	d, err := client.DescribeTable(ctx, j.SnapshotTable)
	if err != nil {
		return err
	}
	if err := checkSchema(d, layout.AttrSnapshotSeq); err != nil {
		return err
	}
	return enableTTL(ctx, client, j.SnapshotTable)
}

// enableTTL enables the expiry of tombstones, or of purged states, unless items of the table
// already expire.
func enableTTL(ctx context.Context, client *dynamo.Client, table string) error {
	attribute, err := client.TTL(ctx, table)
	if err != nil || attribute != "" {
		return err
	}
	return client.EnableTTL(ctx, table, layout.AttrExpires)
}
