package dynajournal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
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
	// TTL is the attribute by which items expire, empty if they don't. TTLStatus is DynamoDB's,
	// such as ENABLED; empty if the service does not say it.
	TTL, TTLStatus string
	// ReadUnits and WriteUnits are the provisioned capacity; both are 0 on demand.
	ReadUnits, WriteUnits int64
	// Stream is what the table's stream holds of a change, such as NEW_IMAGE, empty if there is no
	// stream.
	Stream string

	// What the journal's header says follows. It is zero for a snapshot table, and where there is no
	// header: then the journal is a JVM's.

	// Version is the version of the stored format. Of a version that this package does not know, the
	// other fields are zero.
	Version int
	// Kind is native or shared.
	Kind string
	// Shards is the number of shards of the marks.
	Shards int
	// FenceWindow is how long deleted numbers stay taken.
	FenceWindow time.Duration
}

// KeyAttribute is an attribute of a key.
type KeyAttribute struct {
	Name string
	// Type is DynamoDB's: S, N or B.
	Type string
}

// Index is an index of a table.
type Index struct {
	Name string
	// Keys are the attributes of its key, the hash keys first.
	Keys []KeyAttribute
	// Status is DynamoDB's, such as ACTIVE; empty for a local index, which is as the table is.
	Status string
	// Local reports whether it is a local secondary index.
	Local bool
	// ReadUnits and WriteUnits are its own provisioned capacity; both are 0 on demand, and for a
	// local index.
	ReadUnits, WriteUnits int64
}

// DescribeTables describes the journal table and the snapshot table. One that does not exist is
// left out. Of a table with another key than a journal's there is no header.
func DescribeTables(ctx context.Context, config Config) ([]Table, error) {
	config, client, err := config.forTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var tables []Table
	for _, name := range []string{config.JournalTable, config.SnapshotTable} {
		table, err := config.describe(ctx, client, name)
		if errors.Is(err, ErrTableNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("describe table %q: %w", name, err)
		}
		tables = append(tables, table)
	}
	return tables, nil
}

func (c *Config) describe(ctx context.Context, client *dynamo.Client, name string) (Table, error) {
	d, err := client.Describe(ctx, name)
	if err != nil {
		return Table{}, err
	}
	t := newTable(name, d)
	ttl, err := client.DescribeTTL(ctx, name)
	if err != nil {
		return t, err
	}
	t.TTLStatus = string(ttl.TimeToLiveStatus)
	switch ttl.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		t.TTL = aws.ToString(ttl.AttributeName)
	}
	if name != c.JournalTable {
		return t, nil
	}
	if err := checkSchema(d, layout.AttrNum); errors.Is(err, ErrTableSchema) {
		return t, nil // no header can be there
	}
	keys := layout.Keys{Journal: c.JournalName}
	item, err := client.Get(ctx, &dynamo.Meter{}, name, keys.Header().Attributes())
	if err != nil || item == nil {
		return t, err
	}
	h, err := keys.DecodeHeader(item)
	t.Version, t.Kind, t.Shards = int(h.Version), h.Kind, int(h.Shards)
	t.FenceWindow = time.Duration(h.FenceWindow) * time.Second
	return t, itemError(name, err)
}

// newTable is what DynamoDB says of a table.
func newTable(name string, d *types.TableDescription) Table {
	keys := func(schema []types.KeySchemaElement) []KeyAttribute {
		var found []KeyAttribute
		for _, k := range schema {
			name := aws.ToString(k.AttributeName)
			found = append(found, KeyAttribute{name, attributeType(d, name)})
		}
		return found
	}
	t := Table{Name: name, Status: string(d.TableStatus), Keys: keys(d.KeySchema)}
	t.ReadUnits, t.WriteUnits = provisioned(d.ProvisionedThroughput)
	if s := d.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		t.Stream = string(s.StreamViewType)
	}
	for i := range d.GlobalSecondaryIndexes {
		g := &d.GlobalSecondaryIndexes[i]
		index := Index{
			Name: aws.ToString(g.IndexName), Keys: keys(g.KeySchema), Status: string(g.IndexStatus),
		}
		index.ReadUnits, index.WriteUnits = provisioned(g.ProvisionedThroughput)
		t.Indexes = append(t.Indexes, index)
	}
	for i := range d.LocalSecondaryIndexes {
		l := &d.LocalSecondaryIndexes[i]
		index := Index{Name: aws.ToString(l.IndexName), Keys: keys(l.KeySchema), Local: true}
		t.Indexes = append(t.Indexes, index)
	}
	slices.SortFunc(t.Indexes, func(a, b Index) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

func attributeType(d *types.TableDescription, name string) string {
	for _, a := range d.AttributeDefinitions {
		if aws.ToString(a.AttributeName) == name {
			return string(a.AttributeType)
		}
	}
	return ""
}

func provisioned(t *types.ProvisionedThroughputDescription) (readUnits, writeUnits int64) {
	if t == nil {
		return 0, 0
	}
	return aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits)
}
