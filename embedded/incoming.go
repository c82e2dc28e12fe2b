package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

var (
	errTooLarge = errors.New("the body is too large")
	// errEnding is what a request gets that arrives when serving ends.
	errEnding = errors.New("embedded: the server is ending")
)

const (
	// gzipMemory is what unpacking a body takes besides the body.
	gzipMemory = 48 << 10
	// valueMemory and textMemory are what an attribute value and a text between quotation marks
	// take at most when they are read from a body, besides their characters.
	valueMemory = 128
	textMemory  = 32
)

// incoming is a request that a Server takes in: what its body and answer may take of the server's
// memory, and how long it may take to arrive. A nil incoming bounds neither; it is that of
// requests within the process, whose bodies are in memory already, and of servers other than ours.
type incoming struct {
	// bodyMemory is what the body holds, and what is read from it; answer is what the answer holds.
	bodyMemory, responseMemory reservation
	limits                     *serverLimits
	control                    *http.ResponseController
	connection                 *connection
	started                    time.Time
	// named is set where the tables of the request are to be told.
	named bool
}

// smallBodies has buffers of at most smallBody. Larger ones are not kept: a request that holds
// little would hold them in place of what it needs.
var smallBodies = sync.Pool{New: func() any { return new([]byte) }}

// buffer returns where a body is read into, and giveBack ends its use.
func (in *incoming) buffer() (buffer *[]byte, giveBack func()) {
	if in == nil {
		buffer = takeBuffer()
		return buffer, func() { giveBuffer(buffer) }
	}
	buffer = smallBodies.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	return buffer, func() {
		if cap(*buffer) <= smallBody {
			*buffer = (*buffer)[:0]
			smallBodies.Put(buffer)
		}
	}
}

// grow makes room for more of a body of which size bytes are announced, -1 if that is not known.
func (in *incoming) grow(ctx context.Context, body []byte, size int64) ([]byte, error) {
	if in == nil {
		return append(body, 0)[:len(body)], nil
	}
	capacity := max(2*cap(body), 4<<10)
	if size >= int64(cap(body)) { // one byte more, so that the end is found without growing
		capacity = min(capacity, int(size)+1)
	}
	capacity = min(capacity, maxBody+1)
	if capacity > smallBody {
		held := cap(body)
		if held <= smallBody {
			held = 0
		}
		waiting := time.Now()
		if err := in.bodyMemory.take(ctx, int64(capacity-held)); err != nil {
			return body, err
		}
		in.started = in.started.Add(time.Since(waiting)) // it is not the client that was slow
	}
	grown := make([]byte, len(body), capacity)
	copy(grown, body)
	return grown, nil
}

// unpacks takes what unpacking a body needs.
func (in *incoming) unpacks(ctx context.Context) error {
	if in == nil {
		return nil
	}
	return in.bodyMemory.take(ctx, gzipMemory)
}

// source reads the body within the time that it may take.
func (in *incoming) source(body io.Reader) io.Reader {
	if in == nil {
		return body
	}
	return &timedBody{in: in, body: body}
}

// timedBody is a body that has to arrive in time.
type timedBody struct {
	in   *incoming
	body io.Reader
	read int
}

// Read reads what has arrived, and waits for no longer than the body may take.
func (b *timedBody) Read(dst []byte) (int, error) {
	// A server without deadlines has none to set.
	_ = b.in.control.SetReadDeadline(b.in.started.Add(b.in.limits.patience(b.read)))
	n, err := b.body.Read(dst)
	b.read += n
	return n, err //nolint:wrapcheck // a reader hands io.EOF on as it is
}

// arrived is called when the request has arrived whole, before anything is done for it.
func (in *incoming) arrived() error {
	if in == nil {
		return nil
	}
	// The body's time-out is over: net/http takes it away when it goes on reading, to find out
	// whether the client goes away.
	if !in.connection.begin() {
		return errEnding
	}
	return nil
}

// bounded returns an operation that takes the memory that it needs. What a hanging request does not
// do yet takes none.
func (in *incoming) bounded(op operation) func(*Engine, *call) error {
	if in == nil {
		return op.run
	}
	return func(e *Engine, c *call) error {
		values, page := decodedMemory(c.body), op.responseMemory
		if values > 0 && in.bodyMemory.take(c.ctx, values) != nil {
			return busy()
		}
		if page > 0 && in.responseMemory.take(c.ctx, page) != nil {
			return busy()
		}
		err := op.run(e, c)
		in.bodyMemory.add(-values)
		in.responseMemory.add(int64(cap(c.out)) - page)
		return err
	}
}

// decodedMemory returns what the attribute values of a body take at most. Small bodies take
// nothing, as they take no room themselves.
func decodedMemory(body []byte) int64 {
	if len(body) <= smallBody {
		return 0
	}
	return valueMemory*int64(bytes.Count(body, []byte("{"))) + textMemory*int64(bytes.Count(body, []byte(`"`))/2)
}
