package legacy

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// items reads in requests of at most batch keys, with at most parallelism requests in flight. It
// keeps the responses that were read ahead in memory.
func (s *hashKey) items(
	ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64, emit func(int64, dynamo.Attributes) error,
) error {
	if from > to {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var ahead []chunkRequest
	defer func() { // no request continues after the read
		cancel()
		for _, r := range ahead {
			<-r.answer
		}
	}()
	// Not more is read ahead than is wanted. More requests may follow, because not every number has
	// an event.
	most := min(int64(s.parallelism), (wanted-1)/s.batch+1)
	next, done := from, false
	for !done || len(ahead) > 0 {
		for !done && int64(len(ahead)) < most {
			hi := to
			if to-next >= s.batch {
				hi = next + s.batch - 1
			}
			ahead = append(ahead, s.request(ctx, m, pid, next, hi))
			next, done = hi+1, hi == to
		}
		r := ahead[0]
		got := <-r.answer
		ahead = ahead[1:]
		if got.err != nil {
			return got.err
		}
		if err := s.emitChunk(pid, r, got.items, emit); err != nil {
			return err
		}
	}
	return nil
}

// chunkRequest is a request in flight for the items of the numbers lo to hi.
type chunkRequest struct {
	lo, hi int64
	answer chan chunkResponse
}

type chunkResponse struct {
	items map[string]dynamo.Attributes
	err   error
}

// request starts to read the items of the numbers lo to hi.
func (s *hashKey) request(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64) chunkRequest {
	answer := make(chan chunkResponse, 1)
	s.start(func() {
		items, err := s.chunk(ctx, m, pid, lo, hi)
		answer <- chunkResponse{items, err}
	})
	return chunkRequest{lo, hi, answer}
}

// emitChunk passes the items of a request to emit, by number.
func (s *hashKey) emitChunk(
	pid string, r chunkRequest, items map[string]dynamo.Attributes, emit func(int64, dynamo.Attributes) error,
) error {
	for i := range r.hi - r.lo + 1 {
		seq := r.lo + i
		item := items[s.key(eventKind, pid, seq)]
		if item == nil {
			continue
		}
		if err := emit(seq, item); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads the items of the numbers lo to hi, and returns them by key.
func (s *hashKey) chunk(
	ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64,
) (map[string]dynamo.Attributes, error) {
	keys := make([]dynamo.Attributes, hi-lo+1)
	for i := range keys {
		keys[i] = s.eventKey(pid, lo+int64(i))
	}
	items, err := s.client.BatchGet(ctx, m, s.table, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d to %d: %w", lo, hi, err)
	}
	byKey := make(map[string]dynamo.Attributes, len(items))
	for _, item := range items {
		byKey[keyOf(item)] = item
	}
	return byKey, nil
}

// scan selects events and high marks. A persistence id without either never had an event.
func (s *hashKey) scan() *dynamodb.ScanInput {
	return &dynamodb.ScanInput{
		ProjectionExpression: aws.String("#key"),
		FilterExpression: aws.String("begins_with(#key, :event) AND attribute_exists(" + attrPayload + ") OR " +
			"begins_with(#key, :high) AND attribute_exists(" + attrSequence + ")"),
		ExpressionAttributeNames: map[string]string{"#key": attrKey},
		ExpressionAttributeValues: dynamo.Attributes{":event": text(s.prefix + eventKind + "-"),
			":high": text(s.prefix + highKind + "-")},
	}
}

func (s *hashKey) idOf(item dynamo.Attributes) string {
	rest, ok := strings.CutPrefix(keyOf(item), s.prefix)
	if !ok {
		return ""
	}
	kind, rest, _ := strings.Cut(rest, "-")
	dash := strings.LastIndexByte(rest, '-')
	if dash < 1 {
		return ""
	}
	n, err := strconv.ParseInt(rest[dash+1:], 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != rest[dash+1:] || kind == highKind && n >= s.shards ||
		kind == eventKind && n == 0 {
		return ""
	}
	return rest[:dash]
}
