package ids_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	table     = "events"
	idsShards = 3
	// farFuture is the expiry of tombstones.
	farFuture = 4_000_000_000
)

// base is a database with a journal table that has both ids indexes.
type base struct {
	*testing.T

	sdk  *dynamodb.Client
	aws  aws.Config
	keys layout.Keys
}

// openBase creates a base. rng is the range key of the plug-ins' index, or empty.
func openBase(t *testing.T, rng string) *base {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &base{t, dynamodb.NewFromConfig(engine.AWSConfig()), engine.AWSConfig(), layout.Keys{Journal: "journal", Shards: 4}}
	schema := func(hash, rng string) []types.KeySchemaElement {
		s := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
		if rng != "" {
			s = append(s, types.KeySchemaElement{AttributeName: &rng, KeyType: types.KeyTypeRange})
		}
		return s
	}
	definition := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	keysOnly := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	if _, err := b.sdk.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest, KeySchema: schema("par", "num"),
		AttributeDefinitions: []types.AttributeDefinition{
			definition("par", types.ScalarAttributeTypeS), definition("num", types.ScalarAttributeTypeN),
			definition("ids_shard", types.ScalarAttributeTypeN), definition("ids_key", types.ScalarAttributeTypeS),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String(layout.SharedIDsIndex), KeySchema: schema("num", rng), Projection: keysOnly},
			{IndexName: aws.String(layout.NativeIDsIndex), KeySchema: schema("ids_shard", "ids_key"), Projection: keysOnly},
		},
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// store opens a store whose pages have limit entries (0 is the default), and which calls turn
// before each page.
func (b *base) store(limit int, turn func(page int)) *ids.Store {
	b.Helper()
	config := b.aws
	config.HTTPClient = &pagedClient{inner: config.HTTPClient, limit: limit, turn: turn}
	client, err := dynamo.New(dynamo.Options{
		AWS: config, MaxInFlight: 10, Retries: 3, BackoffBase: time.Microsecond, BackoffCap: time.Microsecond,
		AttemptTimeout: time.Minute, OperationTimeout: time.Minute, MaxBatchGet: 100, MaxBatchWrite: 25,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return &ids.Store{Client: client, Table: table, Keys: b.keys, IDsShards: idsShards, Index: layout.SharedIDsIndex}
}

// pagedClient limits the pages of queries and scans.
type pagedClient struct {
	inner aws.HTTPClient
	limit int
	turn  func(page int)
	pages atomic.Int64
}

// Do sends a request.
func (c *pagedClient) Do(r *http.Request) (*http.Response, error) {
	target := r.Header.Get("X-Amz-Target")
	if !strings.HasSuffix(target, ".Query") && !strings.HasSuffix(target, ".Scan") {
		return c.inner.Do(r)
	}
	if page := c.pages.Add(1); c.turn != nil {
		c.turn(int(page))
	}
	if c.limit == 0 {
		return c.inner.Do(r)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	body["Limit"] = c.limit
	if raw, err = json.Marshal(body); err != nil {
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return c.inner.Do(r)
}

func (b *base) put(items ...layout.Attributes) {
	b.Helper()
	for _, item := range items {
		if _, err := b.sdk.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *base) remove(key layout.Key) {
	b.Helper()
	if _, err := b.sdk.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key.Attributes()}); err != nil {
		b.Fatal(err)
	}
}

// event puts an event as a native journal does. The other ways of listing find it too.
func (b *base) event(pid string, seq int64) {
	b.Helper()
	if seq == 1 {
		b.firstOfLife(pid, seq)
		return
	}
	b.put(b.encodeEvent(pid, seq))
}

// firstOfLife puts the first event after a purge, or the first one at all.
func (b *base) firstOfLife(pid string, seq int64) {
	b.Helper()
	item := b.encodeEvent(pid, seq)
	maps.Copy(item, b.keys.IDsAttributes(pid, idsShards))
	b.put(item)
}

func (b *base) encodeEvent(pid string, seq int64) layout.Attributes {
	return b.keys.EncodeEvent(&layout.Event{PersistenceID: pid, SequenceNr: seq, Bytes: []byte("x"), SerializerID: 4, WriterUUID: "w"})
}

// deleted puts the items that a deletion up to low-1 leaves.
func (b *base) deleted(pid string, low int64) {
	b.Helper()
	b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: low, Removed: low}, b.keys.IDsAttributes(pid, idsShards)))
	for seq := int64(1); seq < low; seq++ {
		b.put(b.keys.EncodeTombstone(pid, seq, farFuture))
	}
}

// purged puts the items that a purge of a native journal up to a number leaves.
func (b *base) purged(pid string, last int64) {
	b.Helper()
	b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: last + 1, Removed: last + 1, Purged: last}, nil))
	for seq := int64(1); seq <= last; seq++ {
		b.put(b.keys.EncodeTombstone(pid, seq, farFuture))
	}
}

// purgedByEarlierVersion puts the item that a purge by an earlier version leaves: a low mark that
// expires.
func (b *base) purgedByEarlierVersion(pid string, last int64) {
	b.Helper()
	low := b.keys.EncodeLowMark(pid, layout.LowMark{Seq: last + 1, Removed: last + 1}, nil)
	low["expires"] = &types.AttributeValueMemberN{Value: strconv.Itoa(farFuture)}
	b.put(low, b.keys.EncodeTombstone(pid, last, farFuture))
}

// deletedByJVM removes an id's first event as a JVM does.
func (b *base) deletedByJVM(pid string) {
	b.Helper()
	mark := b.keys.LowMark(pid, 2).Attributes()
	mark["seq"] = &types.AttributeValueMemberN{Value: "2"}
	b.put(mark)
	b.remove(b.keys.Event(pid, 1))
}

// ways are the ways to list.
var ways = map[string]func(context.Context, *ids.Store, ids.Window, func(string) bool) error{
	"native": func(ctx context.Context, s *ids.Store, w ids.Window, emit func(string) bool) error {
		return s.Native(ctx, &dynamo.Meter{}, w, emit)
	},
	pluginsIndex: func(ctx context.Context, s *ids.Store, w ids.Window, emit func(string) bool) error {
		return s.SharedByIndex(ctx, &dynamo.Meter{}, w, emit)
	},
	"by scan": func(ctx context.Context, s *ids.Store, w ids.Window, emit func(string) bool) error {
		return s.Scan(ctx, &dynamo.Meter{}, w, 1, emit)
	},
	segmented: func(ctx context.Context, s *ids.Store, w ids.Window, emit func(string) bool) error {
		return s.Scan(ctx, &dynamo.Meter{}, w, 3, emit)
	},
}

const (
	pluginsIndex = "by the plug-ins' index"
	segmented    = "by scan of 3 segments"
)

// list returns the listed ids, sorted, with repetitions.
func (b *base) list(way string, s *ids.Store, w ids.Window) []string {
	b.Helper()
	found := b.inOrder(way, s, w)
	slices.Sort(found)
	return found
}

func (b *base) inOrder(way string, s *ids.Store, w ids.Window) []string {
	b.Helper()
	var found []string
	if err := ways[way](b.Context(), s, w, func(pid string) bool {
		found = append(found, pid)
		return true
	}); err != nil {
		b.Fatalf("%s: after %q: %v", way, found, err)
	}
	return found
}

// each runs a test for each way, with and without a range key in the plug-ins' index.
func each(t *testing.T, test func(b *base, way string)) {
	t.Helper()
	for way := range ways {
		for _, rng := range []string{"", "par"} {
			if rng != "" && way != pluginsIndex {
				continue
			}
			name := way
			if rng != "" {
				name += ", with a range key"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(openBase(t, rng), way)
			})
		}
	}
}
