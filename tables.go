package dynajournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// TableOptions say what kind of tables to make.
type TableOptions struct {
	// SharedWithJVM makes a journal that Akka's or Pekko's plug-in can use at the same time: with
	// its indexes, which double the cost of every write, and Config.SequenceShards shards
	// (DefaultSequenceShards if 0), which must be the number in the JVM's configuration. Without it
	// the journal is native: Config.SequenceShards shards (1 if 0), a sparse index of persistence
	// ids, no index on snapshots.
	SharedWithJVM bool
	// ReadUnits and WriteUnits are the provisioned capacity of each table and index; both 0 is on
	// demand.
	ReadUnits, WriteUnits int64
}

// CreateTables makes the journal table with the journal's header, and the snapshot table, and waits
// until they can be used. Those that exist are kept; a journal table of a JVM only becomes part of
// a native journal by migration. Several journals, by different names, can share the tables. If it
// is cut short, a native journal can't be opened; call it again.
//
// Errors: ErrInvalidArgument, ErrTableSchema, ErrHeaderMismatch (there is a journal of that name,
// of another kind or with another number of shards), and those of any request.
func CreateTables(ctx context.Context, config Config, opts TableOptions) error {
	client, err := config.connectToTables()
	if err != nil {
		return err
	}
	defer client.Close()
	if opts.ReadUnits < 0 || opts.WriteUnits < 0 || (opts.ReadUnits == 0) != (opts.WriteUnits == 0) {
		return &ArgumentError{"TableOptions.ReadUnits, WriteUnits", fmt.Sprintf("%d, %d", opts.ReadUnits, opts.WriteUnits), "give both, or neither"}
	}
	return client.Mark(public(config.provision().Create(ctx, client, provision.Options(opts))))
}

// TableChange is something that UpdateTables has added.
type TableChange struct {
	Table string
	// Added says what, Costs what that costs from now on.
	Added, Costs string
}

// UpdateTables adds what an existing journal table lacks: the index that lists persistence ids
// (filled from what is there) and the expiry of tombstones. It waits until they can be used;
// filling the index of a large table takes long. It returns what was added, nothing if nothing was
// lacking. Indexes of a snapshot table can't be added later.
func UpdateTables(ctx context.Context, config Config) ([]TableChange, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	added, err := config.provision().Update(ctx, client)
	var changes []TableChange
	for _, change := range added {
		changes = append(changes, TableChange(change))
	}
	if err != nil {
		return changes, fmt.Errorf("update journal table %q: %w", config.JournalTable, client.Mark(public(err)))
	}
	return changes, nil
}

// DeleteTables deletes the journal table and the snapshot table with everything in them, other
// journals' data included, and returns the names of those that existed.
func DeleteTables(ctx context.Context, config Config) ([]string, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var deleted []string
	for _, name := range []string{config.JournalTable, config.SnapshotTable} {
		err := client.DeleteTable(ctx, name)
		if errors.Is(err, ErrTableNotFound) {
			continue
		}
		if err != nil {
			return deleted, fmt.Errorf("delete table %q: %w", name, client.Mark(err))
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}

// connectToTables is connect for a function that uses both tables.
func (c *Config) connectToTables() (*dynamo.Client, error) {
	client, err := c.connect()
	if err == nil && c.JournalTable == c.SnapshotTable {
		client.Close()
		return nil, &ArgumentError{"Config.SnapshotTable", c.SnapshotTable, "it must not be the journal table"}
	}
	return client, err
}

// provision is what the configuration says of the tables and the header.
func (c *Config) provision() *provision.Journal {
	return &provision.Journal{
		Name:           c.JournalName,
		Table:          c.JournalTable,
		SnapshotTable:  c.SnapshotTable,
		IDsIndex:       c.IDsIndexName,
		SequenceShards: c.SequenceShards,
		FenceWindow:    c.FenceWindow,
	}
}
