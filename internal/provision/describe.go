package provision

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Table is the description of a table. The root package documents its fields.
type Table struct {
	Name                  string
	Status                string
	Keys                  []KeyAttribute
	Indexes               []Index
	TTL, TTLStatus        string
	ReadUnits, WriteUnits int64
	Items, Bytes          int64
	DeletionProtection    bool
	PointInTimeRecovery   string
	Class, Encryption     string
	Stream                string
	Replication           Replication
	Version               int
	Kind                  string
	Shards                int
	FenceWindow           time.Duration
}

// KeyAttribute is an attribute of a key.
type KeyAttribute struct {
	Name string
	Type string
}

// Index is an index of a table.
type Index struct {
	Name                  string
	Keys                  []KeyAttribute
	Status                string
	Local                 bool
	ReadUnits, WriteUnits int64
}

// Describe describes a table, and reads the header if it is the journal table. A table with another
// key than a journal's has no header.
func (j *Journal) Describe(ctx context.Context, client *dynamo.Client, name string) (Table, error) {
	d, err := client.DescribeTable(ctx, name)
	if err != nil {
		return Table{}, err
	}
	t := newTable(name, d)
	recovery, err := client.DescribeRecovery(ctx, name)
	if err != nil && !errors.Is(err, dynamo.ErrDenied) && !errors.Is(err, dynamo.ErrInvalidRequest) {
		return t, err
	}
	t.PointInTimeRecovery = string(recovery) // empty if the service does not report it
	ttl, err := client.DescribeTTL(ctx, name)
	if err != nil {
		return t, err
	}
	t.TTLStatus = string(ttl.TimeToLiveStatus)
	switch ttl.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		t.TTL = aws.ToString(ttl.AttributeName)
	}
	if name != j.Table {
		return t, nil
	}
	if err := checkSchema(d, layout.AttrNum); errors.Is(err, ErrTableSchema) {
		return t, nil // it can't have a header
	}
	keys := layout.Keys{Journal: j.Name}
	item, err := client.Get(ctx, &dynamo.Meter{}, name, keys.Header().Attributes())
	if err != nil || item == nil {
		return t, err
	}
	h, err := keys.DecodeHeader(item)
	t.Version, t.Kind, t.Shards = int(h.Version), h.Kind, int(h.Shards)
	t.FenceWindow = time.Duration(h.FenceWindow) * time.Second
	return t, protocol.InTable(name, err)
}

// newTable returns the Table of a DynamoDB description.
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
	t.Items, t.Bytes = aws.ToInt64(d.ItemCount), aws.ToInt64(d.TableSizeBytes)
	t.DeletionProtection = aws.ToBool(d.DeletionProtectionEnabled)
	if d.TableClassSummary != nil {
		t.Class = string(d.TableClassSummary.TableClass)
	}
	if d.SSEDescription != nil && d.SSEDescription.Status == types.SSEStatusEnabled {
		t.Encryption = string(d.SSEDescription.SSEType)
	}
	if s := d.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		t.Stream = string(s.StreamViewType)
	}
	t.Replication = replicationOf(d)
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
