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
	// SharedWithJVM makes a journal that the plug-in of Akka or Pekko can use at the same time. Its
	// tables have the plug-in's indexes. These add a write unit to each write of an event, and
	// double the cost of each snapshot. Config.SequenceShards, which defaults to 10, must be the
	// number in the JVM's configuration.
	//
	// Defaults to false: the journal is native. It has a sparse index of persistence ids, no index
	// of snapshots, and 1 shard. Config.SequenceShards must be 0 or 1.
	SharedWithJVM bool

	// ReadUnits and WriteUnits are the provisioned capacity of each table and index. Set both or
	// neither. They must not be negative.
	//
	// Default to on-demand capacity.
	ReadUnits, WriteUnits int64

	// Projections also makes the table in which package projection stores the offset of each
	// projection. Its name is the name of the journal table followed by "-projections". Set it for
	// an existing journal to add the table.
	//
	// Defaults to false.
	Projections bool

	// Stream also enables a stream with new images on the journal table, unless the table has a
	// stream. projection.Streams reads it. It does not change the cost of writes. Set it for an
	// existing journal to add the stream.
	//
	// Defaults to false.
	Stream bool
}

// CreateTables makes the journal table with the journal's header, the snapshot table, and the
// projections table if TableOptions asks for it, unless they exist. It waits until all are active.
// Any number of processes can call it at the same time. If a table with one of the names is being
// deleted, it waits up to 10 minutes, and then makes the new one. Journals with different names can
// share tables. A native journal can't use the journal table of a JVM: migrate it.
//
// Errors: [ErrInvalidArgument], [ErrTableSchema], [ErrHeaderMismatch] (the journal exists, and is
// of the other kind or has another number of shards), and request errors. After an error some of
// the tables may exist ([MaybeApplied] reports whether), and a native journal can't be opened. The
// call may be repeated.
func CreateTables(ctx context.Context, config Config, opts TableOptions) error {
	client, err := config.connectToTables()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx = client.For(ctx, dynamo.ForTables)
	if opts.ReadUnits < 0 || opts.WriteUnits < 0 || (opts.ReadUnits == 0) != (opts.WriteUnits == 0) {
		units := fmt.Sprintf("%d, %d", opts.ReadUnits, opts.WriteUnits)
		return &ArgumentError{"TableOptions.ReadUnits, WriteUnits", units, "set both or neither"}
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
	// Added describes the addition. Costs describes its future cost.
	Added, Costs string
}

// UpdateOptions are the options of UpdateTables.
type UpdateOptions struct {
	// Projections and Stream also add the projections table and a stream, as the fields of
	// TableOptions do.
	//
	// Default to false.
	Projections, Stream bool
}

// UpdateTables adds to an existing journal table the index that lists persistence ids and the
// expiry of tombstones, if they are missing, and the additions that the options ask for. If there
// is a projections table, it also adds the index of debts there, and scans that table once. It
// waits until they are active, which takes long for the index of a large table. Any number of
// processes can call it at the same time. It returns its additions, even with an error. It can't
// add indexes to a snapshot table.
//
// UpdateTables also raises the format version of a native journal of an earlier version of this
// package, which Open refuses. Stop all processes of the earlier version first. Open the journal 15
// minutes after the update, because requests of the earlier version can arrive until then. The
// update can't be undone. For a native journal with several shards it returns ErrHeaderMismatch:
// export that journal with the earlier version, and import it into a new one.
//
// Errors: [ErrInvalidArgument], [ErrTableNotFound], [ErrTableSchema], [ErrHeaderMismatch],
// [ErrIndex], and request errors. After an error some additions may be made ([MaybeApplied] reports
// whether). The call may be repeated.
func UpdateTables(ctx context.Context, config Config, opts UpdateOptions) ([]TableChange, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx = client.For(ctx, dynamo.ForTables)
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

// DeleteTables deletes the journal table, the snapshot table and the projections table with all
// their data, including the data of other journals. It returns the names of the tables that it has
// deleted, even with an error. It is not an error if a table does not exist.
//
// Errors: [ErrInvalidArgument], and request errors. After a request error a table may be deleted
// ([MaybeApplied] reports whether). The call may be repeated.
func DeleteTables(ctx context.Context, config Config) ([]string, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx = client.For(ctx, dynamo.ForTables)
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

// connectToTables connects, and checks that the journal and the snapshot table are different.
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

// Table describes a table of a journal. Version, Kind, Shards and FenceWindow are read from the
// journal's header. They are zero for the other tables, and for a journal table without a header,
// which a JVM has made.
type Table struct {
	Name string
	// Status is DynamoDB's status of the table, such as ACTIVE.
	Status string
	// Keys are the attributes of the table's key, the hash key first.
	Keys []KeyAttribute
	// Indexes are the table's indexes, sorted by name.
	Indexes []Index
	// TTL is the attribute by which items expire, or empty if they do not. TTLStatus is DynamoDB's
	// status of the expiry, such as ENABLED, or empty if the service does not return it.
	TTL, TTLStatus string
	// ReadUnits and WriteUnits are the provisioned capacity. Both are 0 with on-demand capacity.
	ReadUnits, WriteUnits int64
	// Items and Bytes are the number of items and their total size. DynamoDB updates them about
	// every six hours.
	Items, Bytes int64
	// DeletionProtection reports whether the table is protected against deletion.
	DeletionProtection bool
	// PointInTimeRecovery is DynamoDB's status of point-in-time recovery. ENABLED means that the
	// table can be restored to an earlier time. It is empty if the service does not return it, or
	// denies dynamodb:DescribeContinuousBackups.
	PointInTimeRecovery string
	// Class is the table class, such as STANDARD_INFREQUENT_ACCESS, or empty for DynamoDB's
	// default.
	Class string
	// Encryption is KMS if a key of AWS KMS encrypts the table, or empty for DynamoDB's own key.
	Encryption string
	// Stream is the view type of the table's stream, such as NEW_IMAGE, or empty without a stream.
	Stream string
	// Replicas are the other Regions that have a replica of the table, sorted.
	// MultiRegionConsistency is EVENTUAL or STRONG. Both are empty without replicas.
	Replicas               []string
	MultiRegionConsistency string

	// Version is the version of the stored format: 1 for a shared journal, 2 for a native one. Open
	// refuses a native journal of version 1, which UpdateTables raises to 2. If this package does
	// not know the version, Kind, Shards and FenceWindow are zero.
	Version int
	// Kind is native or shared.
	Kind string
	// Shards is the number of shards of the marks.
	Shards int
	// FenceWindow is how long the numbers of deleted events stay taken: see Config.FenceWindow.
	FenceWindow time.Duration
}

// KeyAttribute is an attribute of the key of a table or an index.
type KeyAttribute struct {
	Name string
	// Type is DynamoDB's type of the attribute: S, N or B.
	Type string
}

// Index is an index of a table.
type Index struct {
	Name string
	// Keys are the attributes of the index's key, the hash keys first.
	Keys []KeyAttribute
	// Status is DynamoDB's status of the index, such as ACTIVE. It is empty for a local index,
	// which has no status of its own.
	Status string
	// Local reports whether the index is a local secondary index.
	Local bool
	// ReadUnits and WriteUnits are the provisioned capacity. Both are 0 with on-demand capacity,
	// and for a local index, which uses the table's capacity.
	ReadUnits, WriteUnits int64
}

// DescribeTables describes those of the journal table, the snapshot table and the projections table
// that exist. It does not read a header from a table without a journal's key.
//
// Errors: [ErrInvalidArgument], and request errors.
func DescribeTables(ctx context.Context, config Config) ([]Table, error) {
	client, err := config.connectToTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx = client.For(ctx, dynamo.ForTables)
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
