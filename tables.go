package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// TableOptions say what kind of tables to make.
type TableOptions struct {
	// SharedWithJVM makes a journal that Akka's or Pekko's plug-in can use at the same time: with its indexes, which double
	// the cost of every write, and Config.SequenceShards shards (DefaultSequenceShards if 0), which must be the number in
	// the JVM's configuration. Without it the journal is native: Config.SequenceShards shards (1 if 0), a sparse index of
	// persistence ids, no index on snapshots.
	SharedWithJVM bool
	// ReadUnits and WriteUnits are the provisioned capacity of each table and index; both 0 is on demand.
	ReadUnits, WriteUnits int64
}

// nativeIDsShards spreads the entries of the sparse ids index. Each takes 1,000 new persistence ids a second, and a listing
// asks each.
const nativeIDsShards = 8

// CreateTables makes the journal table with the journal's header, and the snapshot table, and waits until they can be used.
// Those that exist are kept; a journal table of a JVM only becomes part of a native journal by migration. Several journals,
// by different names, can share the tables. If it is cut short, a native journal can't be opened; call it again.
//
// Errors: ErrInvalidArgument, ErrTableSchema, ErrHeaderMismatch (there is a journal of that name, of another kind or with
// another number of shards), and those of any request.
func CreateTables(ctx context.Context, config Config, opts TableOptions) error {
	config, client, err := config.forTables()
	if err != nil {
		return err
	}
	defer client.Close()
	if opts.ReadUnits < 0 || opts.WriteUnits < 0 || (opts.ReadUnits == 0) != (opts.WriteUnits == 0) {
		return &ArgumentError{"TableOptions.ReadUnits, WriteUnits", fmt.Sprintf("%d, %d", opts.ReadUnits, opts.WriteUnits), "give both, or neither"}
	}
	made, err := client.Create(ctx, config.journalTable(opts))
	if err == nil {
		err = config.enableTTL(ctx, client)
	}
	var header *layout.Header
	if err == nil {
		header, err = config.missingHeader(ctx, client, opts, made)
	}
	if err != nil {
		return fmt.Errorf("create journal table %q: %w", config.JournalTable, err)
	}
	if err := config.createSnapshotTable(ctx, client, opts); err != nil {
		return fmt.Errorf("create snapshot table %q: %w", config.SnapshotTable, err)
	}
	if header == nil {
		return nil
	}
	if err := config.putHeader(ctx, client, *header); err != nil { // last: a journal with a header has all that it needs
		return fmt.Errorf("create journal table %q: %w", config.JournalTable, err)
	}
	return nil
}

// TableChange is something that UpdateTables has added.
type TableChange struct {
	Table string
	// Added says what, Costs what that costs from now on.
	Added, Costs string
}

// UpdateTables adds what an existing journal table lacks: the index that lists persistence ids (filled from what is there)
// and the expiry of tombstones. It waits until they can be used; filling the index of a large table takes long. It returns
// what was added, nothing if nothing was lacking. Indexes of a snapshot table can't be added later.
func UpdateTables(ctx context.Context, config Config) ([]TableChange, error) {
	config, client, err := config.forTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	changes, err := config.update(ctx, client)
	if err != nil {
		return changes, fmt.Errorf("update journal table %q: %w", config.JournalTable, err)
	}
	return changes, nil
}

func (c *Config) update(ctx context.Context, client *dynamo.Client) ([]TableChange, error) {
	table, err := client.Describe(ctx, c.JournalTable)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(table, layout.AttrNum); err != nil {
		return nil, err
	}
	header, err := c.readHeader(ctx, client, table)
	if err != nil {
		return nil, err
	}
	var changes []TableChange
	ttl, err := client.TTL(ctx, c.JournalTable)
	if err != nil {
		return nil, err
	}
	if ttl == "" {
		if err := client.EnableTTL(ctx, c.JournalTable, layout.AttrExpires); err != nil {
			return nil, err
		}
		changes = append(changes, TableChange{c.JournalTable, "expiry of items by attribute " + layout.AttrExpires, "nothing: DynamoDB removes expired items for free"})
	}
	opts := TableOptions{SharedWithJVM: header.Kind == layout.KindShared}
	costs := "a write unit more for the first event of a persistence id and for each deletion; filling it costs a write unit for each persistence id"
	if opts.SharedWithJVM {
		costs = "a write unit more for every item that is written or deleted; filling it costs a write unit for each item of the table"
	}
	if t := table.ProvisionedThroughput; t != nil && aws.ToInt64(t.WriteCapacityUnits) > 0 {
		opts.ReadUnits, opts.WriteUnits = aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits)
	}
	want := c.journalTable(opts)
	index := want.GlobalSecondaryIndexes[0]
	if hasIndex(table, aws.ToString(index.IndexName)) {
		return changes, nil
	}
	err = client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:            &c.JournalTable,
		AttributeDefinitions: want.AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:             index.IndexName,
			KeySchema:             index.KeySchema,
			Projection:            index.Projection,
			ProvisionedThroughput: index.ProvisionedThroughput,
		}}},
	})
	if err != nil {
		return changes, err
	}
	return append(changes, TableChange{c.JournalTable, "index " + aws.ToString(index.IndexName), costs}), nil
}

// DeleteTables deletes the journal table and the snapshot table with everything in them, other journals' data included, and
// returns the names of those that existed.
func DeleteTables(ctx context.Context, config Config) ([]string, error) {
	config, client, err := config.forTables()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var deleted []string
	for _, name := range []string{config.JournalTable, config.SnapshotTable} {
		err := client.Delete(ctx, name)
		if errors.Is(err, ErrTableNotFound) {
			continue
		}
		if err != nil {
			return deleted, fmt.Errorf("delete table %q: %w", name, err)
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}

func (c Config) forTables() (Config, *dynamo.Client, error) {
	c, client, err := c.Connect()
	if err == nil && c.JournalTable == c.SnapshotTable {
		client.Close()
		return c, nil, &ArgumentError{"Config.SnapshotTable", c.SnapshotTable, "it must not be the journal table"}
	}
	return c, client, err
}

func (c *Config) journalTable(opts TableOptions) *dynamodb.CreateTableInput {
	in := table(c.JournalTable, layout.AttrNum, opts)
	index := types.GlobalSecondaryIndex{
		Projection:            &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		ProvisionedThroughput: in.ProvisionedThroughput,
	}
	if opts.SharedWithJVM {
		// Without a range key: par as one would limit persistence ids to half the length.
		index.IndexName = &c.IDsIndexName
		index.KeySchema = keySchema(layout.AttrNum, "")
	} else {
		index.IndexName = aws.String(layout.NativeIDsIndex)
		index.KeySchema = keySchema(layout.AttrIDsShard, layout.AttrIDsKey)
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			definition(layout.AttrIDsShard, types.ScalarAttributeTypeN), definition(layout.AttrIDsKey, types.ScalarAttributeTypeS))
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{index}
	return in
}

func (c *Config) createSnapshotTable(ctx context.Context, client *dynamo.Client, opts TableOptions) error {
	in := table(c.SnapshotTable, layout.AttrSnapshotSeq, opts)
	if opts.SharedWithJVM {
		in.AttributeDefinitions = append(in.AttributeDefinitions, definition(layout.AttrSnapshotTS, types.ScalarAttributeTypeN))
		in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{
			IndexName:  aws.String(layout.SnapshotTSIndex),
			KeySchema:  keySchema(layout.AttrPar, layout.AttrSnapshotTS),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}
	}
	if _, err := client.Create(ctx, in); err != nil {
		return err
	}
	d, err := client.Describe(ctx, c.SnapshotTable)
	if err != nil {
		return err
	}
	return checkSchema(d, layout.AttrSnapshotSeq)
}

// table is a table with hash key par and a numeric range key.
func table(name, rangeKey string, opts TableOptions) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		KeySchema:            keySchema(layout.AttrPar, rangeKey),
		AttributeDefinitions: []types.AttributeDefinition{definition(layout.AttrPar, types.ScalarAttributeTypeS), definition(rangeKey, types.ScalarAttributeTypeN)},
		BillingMode:          types.BillingModePayPerRequest,
	}
	if opts.ReadUnits > 0 {
		in.BillingMode = types.BillingModeProvisioned
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: &opts.ReadUnits, WriteCapacityUnits: &opts.WriteUnits}
	}
	return in
}

func keySchema(hash, rng string) []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
	if rng != "" {
		schema = append(schema, types.KeySchemaElement{AttributeName: &rng, KeyType: types.KeyTypeRange})
	}
	return schema
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
}

// enableTTL lets tombstones expire, unless items of the table already expire.
func (c *Config) enableTTL(ctx context.Context, client *dynamo.Client) error {
	attribute, err := client.TTL(ctx, c.JournalTable)
	if err != nil || attribute != "" {
		return err
	}
	return client.EnableTTL(ctx, c.JournalTable, layout.AttrExpires)
}

// missingHeader is the header that a journal table lacks, nil if it lacks none; one that is there is checked. On a table that
// another made without a header there may be a JVM's journal already, with a number of shards that only its configuration
// knows: there a header is only missing if Config says that number.
func (c *Config) missingHeader(ctx context.Context, client *dynamo.Client, opts TableOptions, made bool) (*layout.Header, error) {
	want := layout.Header{Kind: layout.KindNative, Shards: 1, IDsShards: nativeIDsShards, Version: layout.HeaderVersion}
	if opts.SharedWithJVM {
		want = layout.Header{Kind: layout.KindShared, Shards: layout.DefaultShards, Version: layout.HeaderVersion}
	}
	if c.SequenceShards != 0 {
		want.Shards = int64(c.SequenceShards)
	}
	want.FenceWindow = int64(c.FenceWindow / time.Second)
	d, err := client.Describe(ctx, c.JournalTable)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(d, layout.AttrNum); err != nil {
		return nil, err
	}
	keys := layout.Keys{Journal: c.JournalName}
	item, err := client.Get(ctx, &dynamo.Meter{}, c.JournalTable, keys.Header().Attributes())
	switch {
	case err != nil:
		return nil, err
	case item != nil:
		return nil, c.sameHeader(item, want)
	case !made && !opts.SharedWithJVM && !hasIndex(d, layout.NativeIDsIndex):
		return nil, fmt.Errorf("%w: the table exists without index %s, so it is a JVM's: share it with the JVM, or take another table and migrate",
			ErrHeaderMismatch, layout.NativeIDsIndex)
	case !made && opts.SharedWithJVM && c.SequenceShards == 0 && !hasIndex(d, layout.NativeIDsIndex):
		return nil, nil //nolint:nilnil // none is a result
	}
	return &want, nil
}

// putHeader puts the journal's header, unless one that says the same was put meanwhile.
func (c *Config) putHeader(ctx context.Context, client *dynamo.Client, header layout.Header) error {
	keys := layout.Keys{Journal: c.JournalName}
	err := client.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: c.JournalTable, Item: keys.EncodeHeader(header), Condition: protocol.NotExists})
	if errors.Is(err, dynamo.ErrConditionFailed) { // another has just put it, or an earlier try of ours
		return c.sameHeader(dynamo.OldItem(err), header)
	}
	return err
}

// readHeader reads the journal's header, or what holds where there is none: the journal is a JVM's then. One in a table with
// the index of native journals is no JVM's, unless the configuration says its number of shards: taken for one, it would get
// marks where nobody looks for them. t is nil where the table can't be described.
func (c *Config) readHeader(ctx context.Context, client *dynamo.Client, t *types.TableDescription) (layout.Header, error) {
	item, err := client.Get(ctx, &dynamo.Meter{}, c.JournalTable, layout.Keys{Journal: c.JournalName}.Header().Attributes())
	if err != nil {
		return layout.Header{}, fmt.Errorf("read the header: %w", err)
	}
	if item == nil && c.SequenceShards == 0 && t != nil && hasIndex(t, layout.NativeIDsIndex) {
		return layout.Header{}, ErrNoHeader
	}
	return c.headerOf(item)
}

func (c *Config) sameHeader(item layout.Attributes, want layout.Header) error {
	h, err := c.headerOf(item)
	if err != nil {
		return err
	}
	if h.Kind != want.Kind {
		return fmt.Errorf("%w: there is a %s journal %q in the table", ErrHeaderMismatch, h.Kind, c.JournalName)
	}
	return nil
}

func hasIndex(d *types.TableDescription, name string) bool {
	indexes := newTable(aws.ToString(d.TableName), d).Indexes
	return slices.ContainsFunc(indexes, func(i Index) bool { return i.Name == name })
}
