package snapshots_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

const (
	table       = "snapshots"
	maxItemSize = 1000
	maxBytes    = 20_000
)

// base is a database with a snapshot table.
type base struct {
	*testing.T

	engine *embedded.Engine
	sdk    *dynamodb.Client
}

func openBase(t *testing.T) *base {
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
	b := &base{t, engine, dynamodb.NewFromConfig(engine.AWSConfig())}
	b.createTable()
	return b
}

func (b *base) createTable() {
	b.Helper()
	_, err := b.sdk.CreateTable(b.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("seq"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("seq"), AttributeType: types.ScalarAttributeTypeN},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// empty removes every item.
func (b *base) empty() {
	b.Helper()
	if _, err := b.sdk.DeleteTable(b.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
		b.Fatal(err)
	}
	b.createTable()
}

// store opens a store whose requests go through a wire, or directly if that is nil.
func (b *base) store(w *wire, change func(*snapshots.Store)) *snapshots.Store {
	b.Helper()
	config := b.engine.AWSConfig()
	if w != nil {
		w.inner = config.HTTPClient
		config.HTTPClient = w
	}
	client, err := dynamo.New(dynamo.Options{
		AWS: config, MaxInFlight: 10, Retries: 3, BackoffBase: time.Microsecond, BackoffCap: time.Microsecond,
		AttemptTimeout: time.Minute, OperationTimeout: time.Minute, MaxBatchGet: 100, MaxBatchWrite: 25,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	s := &snapshots.Store{
		Client: client, Table: table, Keys: layout.Keys{Journal: "journal", Shards: 1},
		MaxItemSize: maxItemSize, MaxBytes: maxBytes, Parallelism: 1,
	}
	if change != nil {
		change(s)
	}
	return s
}

// items returns all items of the table, the highest numbers first.
func (b *base) items() []layout.Attributes {
	b.Helper()
	out, err := b.sdk.Query(b.Context(), &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		ConsistentRead:            aws.Bool(true),
		ScanIndexForward:          aws.Bool(false),
		KeyConditionExpression:    aws.String("par = :p"),
		ExpressionAttributeValues: layout.Attributes{":p": &types.AttributeValueMemberS{Value: "journal-P-a"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Items
}

func (b *base) put(item layout.Attributes) {
	b.Helper()
	if _, err := b.sdk.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
		b.Fatal(err)
	}
}

func (b *base) remove(item layout.Attributes) {
	b.Helper()
	key := layout.Attributes{"par": item["par"], "seq": item["seq"]}
	if _, err := b.sdk.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		b.Fatal(err)
	}
}

func (b *base) save(s *snapshots.Store, snapshot layout.Snapshot) {
	b.Helper()
	if err := s.Save(b.Context(), &dynamo.Meter{}, &snapshot); err != nil {
		b.Fatalf("save %s: %v", describe(&snapshot), err)
	}
}

// load returns the snapshot with the highest sequence number, or nil.
func (b *base) load(s *snapshots.Store) *layout.Snapshot {
	b.Helper()
	return b.highest(s, snapshots.Everything())
}

// highest returns the snapshot with the highest sequence number that meets the criteria, or nil.
func (b *base) highest(s *snapshots.Store, c snapshots.Criteria) *layout.Snapshot {
	b.Helper()
	var found *layout.Snapshot
	var damage error
	err := s.Each(b.Context(), &dynamo.Meter{}, "a", c, 1, func(snapshot layout.Snapshot, damaged error) bool {
		found, damage = &snapshot, damaged
		return false
	})
	if err = errors.Join(err, damage); err != nil {
		b.Fatalf("load: %v", err)
	}
	return found
}

// snapshot returns a snapshot of id a with a timestamp of 100 times its number.
func snapshot(seq int64, size int) layout.Snapshot {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seq), byte(size), byte(size >> 8)})
	_, _ = source.Read(data) // never fails
	return layout.Snapshot{PersistenceID: "a", SequenceNr: seq, Timestamp: 100 * seq, SerializerID: 4, Bytes: data}
}

func same(a, b *layout.Snapshot) bool {
	return a != nil && b != nil && a.SequenceNr == b.SequenceNr && a.Timestamp == b.Timestamp &&
		a.SerializerID == b.SerializerID && a.Manifest == b.Manifest && string(a.Bytes) == string(b.Bytes)
}

func isOneOf(s *layout.Snapshot, candidates ...layout.Snapshot) bool {
	for i := range candidates {
		if same(s, &candidates[i]) {
			return true
		}
	}
	return false
}

// wire is the HTTP client between a store and its database. It injects faults.
type wire struct {
	inner aws.HTTPClient
	// judge returns what happens to the n-th request, from 1 on.
	judge func(n int, operation string) fault

	mu sync.Mutex
	n  int
}

// fault is the fate of a request.
type fault int

const (
	arrives fault = iota
	// lost: it never arrives. unanswered: it arrives, but its response does not.
	lost
	unanswered
)

var errWire = errors.New("the wire is cut")

// Do sends a request, unless it is lost.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w.mu.Lock()
	w.n++
	judged := w.judge(w.n, operation)
	w.mu.Unlock()
	if judged == lost {
		return nil, errWire
	}
	answer, err := w.inner.Do(r)
	if err != nil || judged == arrives {
		return answer, err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return nil, err
	}
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	return nil, errWire
}

func (w *wire) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// dying returns the wire of a process that is killed at its n-th request. That request still
// arrives, or it does not. Nothing is sent after it.
func dying(n int, at fault) *wire {
	return &wire{judge: func(i int, _ string) fault {
		switch {
		case i < n:
			return arrives
		case i == n:
			return at
		}
		return lost
	}}
}

// failingOnce returns a wire on which only the n-th request fails.
func failingOnce(n int, at fault) *wire {
	return &wire{judge: func(i int, _ string) fault {
		if i == n {
			return at
		}
		return arrives
	}}
}
