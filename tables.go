package dynajournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// TableOptions are the options of CreateTables.
type TableOptions struct {
	// SharedWithJVM makes a journal that Akka's or Pekko's plug-in can use at the same time. Its
	// tables have the plug-in's indexes, which double the cost of every write.
	// Config.SequenceShards, which is 10 if it is not set, must be the number in the JVM's
	// configuration.
	//
	// Defaults to false: the journal is native. It has a sparse index of persistence ids, no index
	// of snapshots, and 1 shard if Config.SequenceShards is not set.
	SharedWithJVM bool

	// ReadUnits and WriteUnits are the provisioned capacity of each table and index. Set both or
	// neither; they must not be negative.
	//
	// Default to capacity on demand.
	ReadUnits, WriteUnits int64

	// Projections also makes the table in which package projection keeps how far each projection
	// has come. Its name is that of the journal table with "-projections" after it. Set it for an
	// existing journal to add the table.
	//
	// Defaults to false.
	Projections bool

	// Stream also enables a stream on the journal table, with the new images of items, unless it
	// has one: projection.Streams reads it. Writes cost the same. Set it for an existing journal to
	// add the stream.
	//
	// Defaults to false.
	Stream bool
}

// CreateTables makes the journal table with the journal's header, the snapshot table, and the
// projections table if TableOptions asks for it, as far as they do not exist, and waits until they
// are active. Any number of processes can call it at the same time. While a table with one of the
// names is being deleted, it waits, for 10 minutes at most, and then makes the new one. Journals
// with different names can share tables. A native journal can't use the journal table of a JVM:
// migrate it.
//
// Errors: [ErrInvalidArgument], [ErrTableSchema], [ErrHeaderMismatch] (the journal exists, and is
// of the other kind or has another number of shards), and those of requests. After an error the
// tables may be made in part ([MaybeApplied] reports whether), and a native journal can't be
// opened. The call may be repeated.
func CreateTables(ctx context.Context, config Config, opts TableOptions) error {
	client, err := config.connectToTables()
	if err != nil {
		return err
	}
	defer client.Close()
	if opts.ReadUnits < 0 || opts.WriteUnits < 0 || (opts.ReadUnits == 0) != (opts.WriteUnits == 0) {
		units := fmt.Sprintf("%d, %d", opts.ReadUnits, opts.WriteUnits)
		return &ArgumentError{"TableOptions.ReadUnits, WriteUnits", units, "give both, or neither"}
	}
	return client.Mark(public(config.provision().Create(ctx, client, provision.Options(opts))))
}

// TableChange is an addition to a table.
type TableChange struct {
	Table string
	// Added describes what was added, Costs what it costs from now on.
	Added, Costs string
}

// UpdateOptions are the options of UpdateTables.
type UpdateOptions struct {
	// Projections and Stream also add the projections table and a stream, as those of TableOptions
	// do.
	//
	// Default to false.
	Projections, Stream bool
}

// UpdateTables adds what an existing journal table lacks: the index that lists persistence ids, and
// the expiry of tombstones, and what the options ask for. It waits until they are active, which
// takes long for the index of a large table. Any number of processes can call it at the same time.
// It returns what it has added, also with an error. It can't add indexes to a snapshot table.
//
// Errors: [ErrInvalidArgument], [ErrTableNotFound], [ErrTableSchema], [ErrHeaderMismatch],
// [ErrIndex], and those of requests. After an error a part may be added ([MaybeApplied] reports
// whether). The call may be repeated.
func UpdateTables(ctx context.Context, config Config, opts UpdateOptions) ([]TableChange, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	added, err := config.provision().Update(ctx, client, provision.UpdateOptions(opts))
	var changes []TableChange
	for _, change := range added {
		changes = append(changes, TableChange(change))
	}
	if err != nil {
		return changes, fmt.Errorf("update journal table %q: %w", config.JournalTable, client.Mark(public(err)))
	}
	return changes, nil
}

// DeleteTables deletes the journal table, the snapshot table and the projections table with
// everything in them, also the data of other journals. It returns the names of the tables that it
// has deleted, also with an error. It is no error if they do not exist.
//
// Errors: [ErrInvalidArgument], and those of requests. After an error of a request a table may be
// deleted ([MaybeApplied] reports whether). The call may be repeated.
func DeleteTables(ctx context.Context, config Config) ([]string, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var deleted []string
	names := []string{config.JournalTable, config.SnapshotTable, provision.ProjectionsTable(config.JournalTable)}
	for _, name := range names {
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

// provision returns the part of the configuration that describes the tables and the header.
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
