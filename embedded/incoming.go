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
	// errEncoding is the error of a body that can't be decompressed, or has an unknown encoding.
	errEncoding = errors.New("the body can't be decompressed")
	// errEnding is the error of requests that arrive when serving ends.
	errEnding = errors.New("embedded: the server is stopping")
)

const (
	// unpackMemory is the memory for decompressing a body, without the body.
	unpackMemory = 48 << 10
	// valueMemory and textMemory are the maximum memory of a decoded attribute value and of a
	// decoded string, without their characters.
	valueMemory = 128
	textMemory  = 32
)

// incoming is a request that a Server receives. It limits the memory of the body and the response,
// and the time until the body has arrived. A nil incoming has no limits: it is used for requests
// within the process, whose bodies are in memory, and for Engine.ServeHTTP.
type incoming struct {
	// bodyMemory is reserved for the body and the values decoded from it. responseMemory is
	// reserved for the response.
	bodyMemory, responseMemory reservation
	limits                     *serverLimits
	control                    *http.ResponseController
	connection                 *connection
	started                    time.Time
	// body is the source of Read. received is the number of bytes that Read has read. deadline is
	// the connection's read deadline.
	body     io.Reader
	received int
	deadline time.Time
	// logTables is set if the log needs the tables of the request.
	logTables bool
}

// smallBodies is a pool of buffers of at most smallBody bytes. Larger buffers are not returned to
// it, as small requests would then use memory that is not accounted for.
var smallBodies = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer returns a buffer for the body, and giveBuffer releases it.
func (in *incoming) takeBuffer() *[]byte {
	if in == nil {
		return takeBuffer()
	}
	return smallBodies.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
}

func (in *incoming) giveBuffer(buffer *[]byte) {
	switch {
	case in == nil:
		giveBuffer(buffer)
	case cap(*buffer) <= smallBody:
		*buffer = (*buffer)[:0]
		smallBodies.Put(buffer)
	}
}

// grow returns the body with a larger capacity. size is the announced length, or -1 if it is
// unknown.
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
		occupied := cap(body)
		if occupied <= smallBody {
			occupied = 0
		}
		waiting := time.Now()
		if err := in.bodyMemory.take(ctx, int64(capacity-occupied)); err != nil {
			return body, err
		}
		in.started = in.started.Add(time.Since(waiting)) // the client was not slow
	}
	grown := make([]byte, len(body), capacity)
	copy(grown, body)
	return grown, nil
}

// unpacks reserves the memory for decompressing a body.
func (in *incoming) unpacks(ctx context.Context) error {
	if in == nil {
		return nil
	}
	return in.bodyMemory.take(ctx, unpackMemory)
}

// source returns a reader of the body that enforces its deadline.
func (in *incoming) source(body io.Reader) io.Reader {
	if in == nil {
		return body
	}
	in.body = body
	return in
}

// Read reads the next bytes of the body, and fails when the body takes too long.
func (in *incoming) Read(dst []byte) (int, error) {
	in.limitReading()
	n, err := in.body.Read(dst)
	in.received += n
	return n, err
}

// limitReading sets the deadline for the next bytes, which depends on the number of bytes received.
// It is set only when it changes, which it does not for a small body.
func (in *incoming) limitReading() {
	deadline := in.started.Add(in.limits.patience(in.received))
	if deadline.Equal(in.deadline) {
		return
	}
	in.deadline = deadline
	_ = in.control.SetReadDeadline(deadline) // a connection without deadlines returns an error
}

// arrived is called when the whole request has arrived, before it is performed.
func (in *incoming) arrived() error {
	if in == nil {
		return nil
	}
	// The deadline of the body no longer applies: net/http removes it when it continues reading to
	// notice that the client goes away.
	if !in.connection.start() {
		return errEnding
	}
	return nil
}

// run runs the operation of a request with the memory that it needs reserved. A request that hangs
// because of a fault reserves nothing.
func (in *incoming) run(e *Engine, c *call) error {
	if in == nil {
		return c.op.run(e, c)
	}
	values, page := decodedMemory(c.body), c.op.responseMemory
	if values > 0 && in.bodyMemory.take(c.ctx, values) != nil {
		return busy()
	}
	if page > 0 && in.responseMemory.take(c.ctx, page) != nil {
		return busy()
	}
	err := c.op.run(e, c)
	in.bodyMemory.add(-values)
	in.responseMemory.add(int64(cap(c.out)) - page)
	return err
}

// release releases the memory of the request.
func (in *incoming) release() {
	if in != nil {
		in.bodyMemory.release()
		in.responseMemory.release()
	}
}

// decodedMemory returns the maximum memory of the attribute values of a body. Small bodies need no
// reservation.
func decodedMemory(body []byte) int64 {
	if len(body) <= smallBody {
		return 0
	}
	return valueMemory*int64(bytes.Count(body, []byte("{"))) + textMemory*int64(bytes.Count(body, []byte(`"`))/2)
}
