package protocol_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

const table, pid = "events", "pid"

var keys = layout.Keys{Journal: "journal", Shards: 1}

// asked describes a request.
type asked struct {
	operation string
	// partition is the partition that a query reads, or -1.
	partition int
	// high reports that a BatchGetItem reads high marks.
	high bool
}

// scene is a table on an engine, a store that reads it, and hooks around its requests.
type scene struct {
	*testing.T

	client *dynamodb.Client
	inner  aws.HTTPClient
	store  *protocol.Store
	keys   layout.Keys

	mu   sync.Mutex
	sent []asked
	// before and after are called before a request is sent, and after its response has come.
	before, after func(asked)
}

func newScene(t *testing.T, parallelism int) *scene { return newSceneOf(t, parallelism, 1) }

func newSceneOf(t *testing.T, parallelism int, shards int64) *scene {
	t.Helper()
	keys := layout.Keys{Journal: keys.Journal, Shards: shards}
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatalf("open an engine: %v", err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	config := engine.AWSConfig()
	s := &scene{T: t, client: dynamodb.NewFromConfig(config), inner: config.HTTPClient, keys: keys,
		before: func(asked) {}, after: func(asked) {}}
	config.HTTPClient = &http.Client{Transport: s}
	const operations = 10 * time.Second
	client, err := dynamo.New(dynamo.Options{
		AWS: config, MaxInFlight: 50, BackoffBase: time.Millisecond, BackoffCap: time.Millisecond,
		AttemptTimeout: operations, OperationTimeout: operations, MaxBatchGet: 100, MaxBatchWrite: 25,
	})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	s.store = &protocol.Store{Client: client, Table: table, Keys: keys, Parallelism: parallelism}
	_, err = s.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("num"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("num"), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil {
		t.Fatalf("create a table: %v", err)
	}
	return s
}

// RoundTrip sends a request of the store, and calls the hooks.
func (s *scene) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a := what(r.Header.Get("X-Amz-Target"), body)
	s.mu.Lock()
	s.sent = append(s.sent, a)
	s.mu.Unlock()
	s.before(a)
	response, err := s.inner.Do(r)
	s.after(a)
	return response, err
}

func what(target string, body []byte) asked {
	_, operation, _ := strings.Cut(target, ".")
	a := asked{operation: operation, partition: -1}
	var in struct {
		ExpressionAttributeValues map[string]struct{ S string }
	}
	if json.Unmarshal(body, &in) == nil {
		par := in.ExpressionAttributeValues[":p"].S
		if p, err := strconv.Atoi(par[strings.LastIndexByte(par, '-')+1:]); err == nil {
			a.partition = p
		}
	}
	a.high = operation == "BatchGetItem" && bytes.Contains(body, []byte("-SH-"))
	return a
}

// once returns a hook that calls do at the first request for which is reports true.
func once(is func(asked) bool, do func()) func(asked) {
	var done sync.Once
	return func(a asked) {
		if is(a) {
			done.Do(do)
		}
	}
}

// query reports whether a request reads a partition.
func query(partition int) func(asked) bool {
	return func(a asked) bool { return a.operation == "Query" && a.partition == partition }
}

func anything(asked) bool { return true }

func operation(name string) func(asked) bool {
	return func(a asked) bool { return a.operation == name }
}

// queries counts the queries of each partition.
func (s *scene) queries() map[int]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[int]int{}
	for _, a := range s.sent {
		if a.operation == "Query" {
			counts[a.partition]++
		}
	}
	return counts
}

// count counts the requests for which is reports true.
func (s *scene) count(is func(asked) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.sent {
		if is(a) {
			n++
		}
	}
	return n
}

// put puts items without the store's knowledge.
func (s *scene) put(items ...layout.Attributes) {
	s.Helper()
	for _, it := range items {
		if _, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it}); err != nil {
			s.Errorf("put an item: %v", err)
		}
	}
}

// vanish deletes the items of numbers without the store's knowledge.
func (s *scene) vanish(first, last int64) {
	s.Helper()
	for seq := first; seq <= last; seq++ {
		if _, err := s.client.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: keys.Event(pid, seq).Attributes()}); err != nil {
			s.Errorf("delete an item: %v", err)
		}
	}
}

// vanishMark deletes the low mark of a value without the store's knowledge.
func (s *scene) vanishMark(low int64) {
	s.Helper()
	key := s.keys.LowMark(pid, low).Attributes()
	if _, err := s.client.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		s.Errorf("delete a mark: %v", err)
	}
}

func single(seq int64) layout.Attributes {
	return keys.EncodeEvent(&layout.Event{PersistenceID: pid, SequenceNr: seq, Bytes: []byte("event"), SerializerID: 4, WriterUUID: "w"})
}

func member(seq, first, last int64) layout.Attributes {
	return keys.EncodeEvent(&layout.Event{
		PersistenceID: pid, SequenceNr: seq, Bytes: []byte("event"), SerializerID: 4, WriterUUID: "w",
		Batch: layout.Batch{Start: first, Last: last, WriterUUID: "w"},
	})
}

func (s *scene) singles(first, last int64) {
	s.Helper()
	for seq := first; seq <= last; seq++ {
		s.put(single(seq))
	}
}

func (s *scene) batch(first, last int64) {
	s.Helper()
	for seq := first; seq <= last; seq++ {
		s.put(member(seq, first, last))
	}
}

// bury deletes as a writer does: the low mark first, then tombstones.
func (s *scene) bury(from int64, low layout.LowMark) {
	s.Helper()
	s.put(s.keys.EncodeLowMark(pid, low, nil))
	for seq := from; seq < low.Seq; seq++ {
		s.put(keys.EncodeTombstone(pid, seq, 4_000_000_000))
	}
}

// read replays, and returns the numbers that were handed out.
func (s *scene) read(req protocol.Request) (string, protocol.Result, error) {
	s.Helper()
	req.PersistenceID, req.From, req.To = pid, max(req.From, 1), layout.MaxSequenceNumber
	if req.Limit == 0 {
		req.Limit = protocol.Unlimited
	}
	var got []int64
	result, err := s.store.Replay(s.Context(), &dynamo.Meter{}, req, func(e *layout.Event) error {
		got = append(got, e.SequenceNr)
		return nil
	})
	return ranges(got), result, err
}

// want replays, and checks which events are handed out.
func (s *scene) want(req protocol.Request, want string, highest int64) {
	s.Helper()
	got, result, err := s.read(req)
	if err != nil {
		s.Fatalf("Replay(%+v): after %q: %v", req, got, err)
	}
	if got != want {
		s.Errorf("Replay(%+v) handed out %q, want %q", req, got, want)
	}
	if req.Recover && result.Highest != highest {
		s.Errorf("Replay(%+v) found %d to be the highest, want %d", req, result.Highest, highest)
	}
}

func ranges(numbers []int64) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		part := strconv.FormatInt(numbers[i], 10)
		if last > i {
			part += "-" + strconv.FormatInt(numbers[last], 10)
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
