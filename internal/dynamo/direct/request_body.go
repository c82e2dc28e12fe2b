package direct

import (
	"context"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// requestBody is reusable memory for the body of a request. Without reuse, the bodies of shared
// requests would be a quarter of a client's allocations.
//
// net/http may still read a body after it has returned the response. So the memory is reused only
// after the request has returned and has been completely written, which net/http reports in a
// trace.
type requestBody struct {
	json []byte
	// state is the set of events of the request so far.
	state atomic.Int32
}

// Events of a request, which occur in any order.
const (
	written int32 = 1 << iota
	returned
	both = written | returned
)

// bodies is the pool of bodies of shared requests.
var bodies = sync.Pool{New: func() any { return new(requestBody) }}

// maxPooledBody is the capacity of the largest body that is reused.
const maxPooledBody = 256 << 10

// bodyFor returns reusable memory for the body of a shared request. It returns nil for other
// requests, whose bodies are small, and if the client is not net/http's or ctx already has a trace.
func (s *Sender) bodyFor(ctx context.Context, in any) *requestBody {
	if _, shared := in.(*dynamodb.BatchExecuteStatementInput); !shared || !s.traced || httptrace.ContextClientTrace(ctx) != nil {
		return nil
	}
	b := bodies.Get().(*requestBody) //nolint:forcetypeassert // the pool has nothing else
	b.state.Store(0)
	return b
}

// buffer returns the memory as an empty slice.
func (b *requestBody) buffer() []byte {
	if b == nil {
		return nil
	}
	return b.json[:0]
}

// within returns a context whose trace records that net/http has written the request.
func (b *requestBody) within(ctx context.Context) context.Context {
	if b == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			b.record(written)
		}
	}})
}

// record records an event, and returns the memory to the pool after the last event.
func (b *requestBody) record(what int32) {
	if b != nil && b.last(what) && cap(b.json) <= maxPooledBody {
		bodies.Put(b)
	}
}

// last records an event. It returns true once, when all events have occurred.
func (b *requestBody) last(what int32) bool {
	before := b.state.Or(what)
	return before != both && before|what == both
}
