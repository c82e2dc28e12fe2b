package embedded

import (
	"crypto/rand"
	"errors"
	"hash/crc32"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// response is an answer before it is on the wire. Its body is valid until released.
type response struct {
	status      int
	contentType string
	body        []byte
	requestID   string
	buffer      *[]byte
	damage      damage
	summary     requestSummary
}

// requestSummary is what a Server tells of a request: in its log and its metrics.
type requestSummary struct {
	// operation is empty if there is none of the name.
	operation string
	// tables are the names of the tables of the request, if they were asked for.
	tables []string
	// code is the name of the error, empty if there is none.
	code string
	// received is how long the body was, unpacked.
	received int
	// partly is set if the body did not arrive whole.
	partly bool
}

func (r *response) release() {
	if r.buffer != nil {
		*r.buffer = r.body
		giveBuffer(r.buffer)
		r.buffer = nil
	}
}

func (r *response) header(now time.Time) http.Header {
	header := http.Header{}
	// The names are in their canonical form already.
	header["X-Amzn-Requestid"] = []string{r.requestID}
	header["X-Amz-Crc32"] = []string{strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.body)), 10)}
	header["Content-Type"] = []string{r.contentType}
	header["Date"] = []string{now.UTC().Format(http.TimeFormat)}
	header["Content-Length"] = []string{strconv.Itoa(len(r.body))}
	return header
}

func newResponse(status int) *response {
	buffer := takeBuffer()
	return &response{status: status, contentType: contentType, body: (*buffer)[:0], requestID: newRequestID(), buffer: buffer}
}

func errorResponse(e *apiError) *response {
	response := newResponse(e.status)
	response.body = appendError(response.body, e)
	response.summary.code = e.name()
	return response
}

func fixedResponse(status int, kind, body string) *response {
	return &response{status: status, contentType: kind, body: []byte(body), requestID: newRequestID()}
}

// newRequestID is 52 letters and digits, as DynamoDB's are.
func newRequestID() string { return rand.Text() + rand.Text() }

// unreadResponse returns the answer to a request whose body could not be read.
func unreadResponse(err error) *response {
	switch {
	case errors.Is(err, errTooLarge):
		return fixedResponse(http.StatusRequestEntityTooLarge, "", "")
	case errors.Is(err, errNoMemory):
		return errorResponse(busy())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fixedResponse(http.StatusRequestTimeout, "", "the body did not arrive in time\n")
	}
	return errorResponse(serviceError("SerializationException", ""))
}

// maxKeptBuffer bounds what the pool keeps of a buffer that once held a large answer.
const maxKeptBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) } //nolint:forcetypeassert // the pool holds nothing else

func giveBuffer(buffer *[]byte) {
	if cap(*buffer) <= maxKeptBuffer {
		*buffer = (*buffer)[:0]
		buffers.Put(buffer)
	}
}

// separate appends the comma between elements before all but the first.
func separate(dst []byte, index int) []byte {
	if index > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// appendName begins the next member of the object that dst ends with.
func appendName(dst []byte, name string) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
