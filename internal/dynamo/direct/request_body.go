package direct

import (
	"context"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// requestBody is memory for the body of a request, which is used again for that of another. The
// bodies of shared requests would be a quarter of what a client allocates.
//
// net/http may read a body after it has returned the response. So the memory is used again only
// when the request was written whole, which net/http reports in a trace, and has returned.
type requestBody struct {
	json []byte
	// state has what has happened of a request.
	state atomic.Int32
}

// What happens to a request, in any order.
const (
	written int32 = 1 << iota
	returned
	both = written | returned
)

// bodies are for shared requests.
var bodies = sync.Pool{New: func() any { return new(requestBody) }}

// maxKeptBody is the capacity of the largest body that is used again.
const maxKeptBody = 256 << 10

// bodyFor returns memory for the body of a request, nil if it is not to be used again: the body is
// small, or net/http does not report to us alone what is written.
func (s *Sender) bodyFor(ctx context.Context, in any) *requestBody {
	if _, shared := in.(*dynamodb.BatchExecuteStatementInput); !shared || !s.traced || httptrace.ContextClientTrace(ctx) != nil {
		return nil
	}
	b := bodies.Get().(*requestBody) //nolint:forcetypeassert // the pool has nothing else
	b.state.Store(0)
	return b
}

// buffer returns the memory, without content.
func (b *requestBody) buffer() []byte {
	if b == nil {
		return nil
	}
	return b.json[:0]
}

// within returns a context in which net/http reports when a request with the body was written.
func (b *requestBody) within(ctx context.Context) context.Context {
	if b == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			b.happened(written)
		}
	}})
}

// happened takes note of what has happened, and gives the memory back after the last of it.
func (b *requestBody) happened(what int32) {
	if b != nil && b.last(what) && cap(b.json) <= maxKeptBody {
		bodies.Put(b)
	}
}

// last takes note of what has happened, and reports whether nothing else can happen any more. It
// does so once.
func (b *requestBody) last(what int32) bool {
	before := b.state.Or(what)
	return before != both && before|what == both
}
