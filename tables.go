package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// TableOptions are the options of CreateTables.
type TableOptions struct {
	// SharedWithJVM makes a journal that Akka's or Pekko's plug-in can use at the same time. Its
	// tables have the plug-in's indexes. They add a write unit to each write of an event, and
	// double the cost of each snapshot. Config.SequenceShards, which is 10 if it is not set, must
	// be the number in the JVM's configuration.
	//
	// Defaults to false: the journal is native. It has a sparse index of persistence ids, no index
	// of snapshots, and 1 shard. Config.SequenceShards must be 0 or 1.
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
	if config.SequenceShards > 1 && !opts.SharedWithJVM {
		return &ArgumentError{"Config.SequenceShards", config.SequenceShards,
			"a native journal has 1, because its low mark must be one item: set it to 0"}
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
// the expiry of tombstones, and what the options ask for. If there is a projections table, it also
// adds the index of debts there, and scans that table once. It waits until they are active, which
// takes long for the index of a large table. Any number of processes can call it at the same time.
// It returns what it has added, also with an error. It can't add indexes to a snapshot table.
//
// UpdateTables also raises the format version of a native journal of an earlier version of this
// package, which Open refuses. Stop all processes of the earlier version first, and open the
// journal 15 minutes later: a request of theirs can land until then. There is no way back. A
// native journal with several shards is ErrHeaderMismatch: export it with the earlier version, and
// import it into a new journal.
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

// Table describes a table of a journal.
type Table struct {
	Name string
	// Status is DynamoDB's, such as ACTIVE.
	Status string
	// Keys are the attributes of the table's key, the hash key first.
	Keys []KeyAttribute
	// Indexes are the table's indexes, sorted by name.
	Indexes []Index
	// TTL is the attribute by which items expire, empty if they do not. TTLStatus is DynamoDB's,
	// such as ENABLED; empty if the service returns none.
	TTL, TTLStatus string
	// ReadUnits and WriteUnits are the provisioned capacity; both are 0 on demand.
	ReadUnits, WriteUnits int64
	// Items and Bytes are how many items there are, and their size. DynamoDB counts them about
	// every six hours.
	Items, Bytes int64
	// DeletionProtection reports whether the table can't be deleted.
	DeletionProtection bool
	// PointInTimeRecovery is DynamoDB's status, such as ENABLED: then the table can be restored to
	// an earlier time. It is empty if the service does not tell, or denies
	// dynamodb:DescribeContinuousBackups.
	PointInTimeRecovery string
	// Class is the table class, such as STANDARD_INFREQUENT_ACCESS; empty is DynamoDB's default.
	Class string
	// Encryption is KMS if a key of AWS KMS encrypts the table; empty is DynamoDB's own key.
	Encryption string
	// Stream is the view type of the table's stream, such as NEW_IMAGE, empty if there is no
	// stream.
	Stream string
	// Replicas are the other Regions that have a replica of the table, sorted.
	// MultiRegionConsistency is DynamoDB's, EVENTUAL or STRONG. Both are empty if there is no
	// replica.
	Replicas               []string
	MultiRegionConsistency string

	// The following fields are the journal's header. They are zero for the other tables, and if
	// there is no header: then a JVM has made the table.

	// Version is the version of the stored format: 1 of a shared journal, 2 of a native one. Open
	// refuses a native journal of version 1, and UpdateTables raises it. If this package does not
	// know the version, the other fields are zero.
	Version int
	// Kind is native or shared.
	Kind string
	// Shards is the number of shards of the marks.
	Shards int
	// FenceWindow is how long deleted numbers stay taken: see Config.FenceWindow.
	FenceWindow time.Duration
}

// KeyAttribute is an attribute of the key of a table or an index.
type KeyAttribute struct {
	Name string
	// Type is DynamoDB's: S, N or B.
	Type string
}

// Index is an index of a table.
type Index struct {
	Name string
	// Keys are the attributes of the index's key, the hash keys first.
	Keys []KeyAttribute
	// Status is DynamoDB's, such as ACTIVE; empty for a local index, whose status is the table's.
	Status string
	// Local reports whether it is a local secondary index.
	Local bool
	// ReadUnits and WriteUnits are the provisioned capacity; both are 0 on demand, and for a local
	// index, which uses the table's.
	ReadUnits, WriteUnits int64
}

// DescribeTables describes the journal table, the snapshot table and the projections table, as far
// as they exist. It reads no header from a table whose key is not a journal's.
//
// Errors: [ErrInvalidArgument], and those of requests.
func DescribeTables(ctx context.Context, config Config) ([]Table, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var tables []Table
	names := []string{config.JournalTable, config.SnapshotTable, provision.ProjectionsTable(config.JournalTable)}
	for _, name := range names {
		table, err := config.provision().Describe(ctx, client, name)
		if errors.Is(err, ErrTableNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("describe table %q: %w", name, public(err))
		}
		tables = append(tables, publicTable(&table))
	}
	return tables, nil
}

// publicTable returns the public form of a description.
func publicTable(t *provision.Table) Table {
	var indexes []Index
	for i := range t.Indexes {
		in := &t.Indexes[i]
		indexes = append(indexes, Index{in.Name, publicKeys(in.Keys), in.Status, in.Local, in.ReadUnits, in.WriteUnits})
	}
	return Table{
		Name: t.Name, Status: t.Status, Keys: publicKeys(t.Keys), Indexes: indexes, TTL: t.TTL, TTLStatus: t.TTLStatus,
		ReadUnits: t.ReadUnits, WriteUnits: t.WriteUnits, Items: t.Items, Bytes: t.Bytes,
		DeletionProtection: t.DeletionProtection, PointInTimeRecovery: t.PointInTimeRecovery,
		Class: t.Class, Encryption: t.Encryption, Stream: t.Stream,
		Replicas: t.Replication.Regions, MultiRegionConsistency: t.Replication.Consistency,
		Version: t.Version, Kind: t.Kind, Shards: t.Shards, FenceWindow: t.FenceWindow,
	}
}

func publicKeys(keys []provision.KeyAttribute) []KeyAttribute {
	var attributes []KeyAttribute
	for _, key := range keys {
		attributes = append(attributes, KeyAttribute(key))
	}
	return attributes
}
