package dynamo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// batchService is a table that processes only the first items of a batch.
type batchService struct {
	script
	// take is the number of processed items for each request. The last number applies to all
	// further requests.
	take []int
	// served counts how often each item was read or written, by its number.
	served map[string]int
	// largest is the number of items of the largest request.
	largest int
}

func newBatchService(take ...int) *batchService {
	b := &batchService{take: take, served: map[string]int{}}
	return b
}

type keyJSON struct {
	Par struct{ S string } `json:"par"`
	Num struct{ N string } `json:"num"`
}

// Do serves a BatchGetItem or a BatchWriteItem.
func (b *batchService) Do(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, sent{header: r.Header.Clone()})
	n := b.take[min(len(b.sent), len(b.take))-1]
	if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.BatchGetItem" {
		return b.get(r, raw, n)
	}
	return b.write(r, raw, n)
}

func (b *batchService) get(r *http.Request, raw []byte, n int) (*http.Response, error) {
	type keys struct {
		Keys           []keyJSON
		ConsistentRead bool
	}
	var in struct{ RequestItems map[string]keys }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	wanted := in.RequestItems[table]
	if !wanted.ConsistentRead || len(in.RequestItems) != 1 {
		return nil, fmt.Errorf("the request is %s", raw)
	}
	n = min(n, len(wanted.Keys))
	b.largest = max(b.largest, len(wanted.Keys))
	for _, k := range wanted.Keys[:n] {
		b.served[k.Num.N]++
	}
	out := map[string]any{"Responses": map[string]any{table: wanted.Keys[:n]}}
	if n < len(wanted.Keys) {
		out["UnprocessedKeys"] = map[string]keys{table: {wanted.Keys[n:], wanted.ConsistentRead}}
	}
	return respondJSON(r, out)
}

func (b *batchService) write(r *http.Request, raw []byte, n int) (*http.Response, error) {
	type request struct {
		PutRequest *struct{ Item keyJSON } `json:",omitempty"`
	}
	var in struct{ RequestItems map[string][]request }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	wanted := in.RequestItems[table]
	n = min(n, len(wanted))
	b.largest = max(b.largest, len(wanted))
	for _, w := range wanted[:n] {
		b.served[w.PutRequest.Item.Num.N]++
	}
	out := map[string]any{}
	if n < len(wanted) {
		out["UnprocessedItems"] = map[string][]request{table: wanted[n:]}
	}
	return respondJSON(r, out)
}

func respondJSON(r *http.Request, out any) (*http.Response, error) {
	body, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return ok(string(body))(r)
}

// leaveAll responds to every BatchWriteItem that its item is unprocessed.
func leaveAll(r *http.Request) (*http.Response, error) {
	return respondJSON(r, map[string]any{"UnprocessedItems": map[string]any{table: []any{
		map[string]any{"PutRequest": map[string]any{"Item": map[string]any{"num": map[string]any{"N": "0"}}}},
	}}})
}

func keys(n int) []dynamo.Attributes {
	all := make([]dynamo.Attributes, n)
	for i := range all {
		all[i] = key(i)
	}
	return all
}

func writes(n int) []types.WriteRequest {
	all := make([]types.WriteRequest, n)
	for i := range all {
		all[i].PutRequest = &types.PutRequest{Item: key(i)}
	}
	return all
}

// once reports whether each of n items was served exactly once.
func (b *batchService) once(n int) bool {
	for i := range n {
		if b.served[strconv.Itoa(i)] != 1 {
			return false
		}
	}
	return len(b.served) == n
}

func TestBatchGet_UnprocessedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatchService(40, 0, 1, 100)
		items, err := newClient(t, options(b)).BatchGet(t.Context(), &dynamo.Meter{}, table, keys(100))
		if err != nil || len(items) != 100 || !b.once(100) {
			t.Errorf("%d items, served %v, error %v", len(items), b.served, err)
		}
	})
}

func TestBatchWrite_UnprocessedItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatchService(20, 0, 1, 25)
		err := newClient(t, options(b)).BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(25), nil)
		if err != nil || !b.once(25) {
			t.Errorf("served %v, error %v", b.served, err)
		}
	})
}

func TestBatchWrite_FailedAttemptBetweenUnprocessedItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatchService(10)
		service := newScript(b.Do, throttle(), b.Do, reset, b.Do)
		c := newClient(t, options(rawScript{service}))
		if err := c.BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(25), nil); err != nil || !b.once(25) {
			t.Errorf("served %v, error %v", b.served, err)
		}
	})
}

// rawScript is a script whose steps read the body of the request themselves.
type rawScript struct{ *script }

func (s rawScript) Do(r *http.Request) (*http.Response, error) { return s.take(sent{})(r) }

// A batch that makes progress gets all its retries again: here each attempt that leaves fewer items
// is followed by as many lost responses as a request has retries.
func TestBatch_ProgressResetsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatchService(5)
		steps := []step{b.Do}
		for range 4 {
			steps = append(steps, reset, reset, reset, b.Do)
		}
		c := newClient(t, options(rawScript{newScript(steps...)}))
		err := c.BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(25), nil)
		if err != nil || !b.once(25) || len(b.sent) != 5 {
			t.Errorf("%d attempts with a response, served %v, error %v", len(b.sent), b.served, err)
		}
	})
}

func TestBatch_NoProgressIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, send := range map[string]func(*dynamo.Client) error{
			"write": func(c *dynamo.Client) error {
				return c.BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(25), nil)
			},
			"read": func(c *dynamo.Client) error {
				_, err := c.BatchGet(t.Context(), &dynamo.Meter{}, table, keys(25))
				return err
			},
		} {
			b := newBatchService(5, 0)
			start := time.Now()
			err := send(newClient(t, options(b)))
			var request *dynamo.RequestError
			if !errors.Is(err, dynamo.ErrThrottled) || !errors.As(err, &request) || len(b.sent) != request.Attempts || time.Since(start) != time.Minute {
				t.Errorf("%s: %d attempts, error %v", name, len(b.sent), err)
			}
		}
	})
}

func TestBatch_UnprocessedKeysRiseAndFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := func(n int) step {
			return func(r *http.Request) (*http.Response, error) {
				return respondJSON(r, map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": map[string]any{table: map[string]any{"Keys": make([]struct{}, n)}}})
			}
		}
		var steps []step
		for range 10_000 {
			steps = append(steps, leave(5), leave(6))
		}
		s, start := newScript(append(steps, ok(`{}`))...), time.Now()
		_, err := client(t, s).BatchGet(t.Context(), &dynamo.Meter{}, table, keys(10))
		if !errors.Is(err, dynamo.ErrThrottled) || time.Since(start) != time.Minute || len(s.attempts()) > 2500 {
			t.Errorf("%d attempts, %v, error %v", len(s.attempts()), time.Since(start), err)
		}
	})
}

func TestBatchGet_SplitIntoRequests(t *testing.T) {
	for _, n := range []int{1, 99, 100, 101, 200, 1050} {
		b := newBatchService(1000)
		items, err := newClient(t, options(b)).BatchGet(t.Context(), &dynamo.Meter{}, table, keys(n))
		if err != nil || len(items) != n || !b.once(n) || b.largest > 100 || len(b.sent) != (n+99)/100 {
			t.Errorf("%d keys: %d items in %d requests, largest %d: %v", n, len(items), len(b.sent), b.largest, err)
		}
	}
}

func TestBatchGet_OneRequestFails(t *testing.T) {
	b := newBatchService(1000)
	c := newClient(t, options(rawScript{newScript(b.Do, refuse(400, "AccessDeniedException"), b.Do)}))
	items, err := c.BatchGet(t.Context(), &dynamo.Meter{}, table, keys(300))
	if !errors.Is(err, dynamo.ErrDenied) || items != nil {
		t.Errorf("%d items, error %v", len(items), err)
	}
}

func TestBatchWrite_MaybeAppliedAfterLostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			fail step
			want bool
		}{"lost": {reset, true}, "throttled": {throttle(), false}} {
			err := client(t, newScript(c.fail)).BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(1), nil)
			if err == nil || dynamo.MaybeApplied(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestBatchGet_MissingItemsAreLeftOut(t *testing.T) {
	c := client(t, newScript(ok(`{"Responses":{"events":[{"num":{"N":"1"}}]},"UnprocessedKeys":{}}`)))
	items, err := c.BatchGet(t.Context(), &dynamo.Meter{}, table, keys(3))
	if err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
}
