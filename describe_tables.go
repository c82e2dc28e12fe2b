package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/provision"
)

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

	// Version is the version of the stored format. If this package does not know it, the other
	// fields are zero.
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
