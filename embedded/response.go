package embedded

import (
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// response is an HTTP response that is not sent yet. Its body is valid until release.
type response struct {
	status      int
	contentType string
	body        []byte
	// encoding is the Content-Encoding of the body, or empty.
	encoding  string
	requestID string
	buffer    *[]byte
	damage    damage
	// omitErrorChecksum leaves the checksum out if the response is an error.
	omitErrorChecksum bool
	// ahead is the time by which the clock of the response is ahead.
	ahead time.Duration

	summary requestSummary
}

// requestSummary has the properties of a request that a Server logs and counts.
type requestSummary struct {
	// operation is empty if the request does not name a known operation.
	operation string
	// tables are the names of the request's tables, if the Server has a log.
	tables []string
	// code is the name of the error, or empty.
	code string
	// received is the length of the body, decompressed.
	received int
	// partly is set if the body was not read to its end.
	partly bool
}

func (r *response) release() {
	if r.buffer != nil {
		*r.buffer = r.body
		giveBuffer(r.buffer)
		r.buffer = nil
	}
}

// hasChecksum reports whether the response has a checksum.
func (r *response) hasChecksum() bool { return r.status == http.StatusOK || !r.omitErrorChecksum }

func (r *response) header(now time.Time) http.Header {
	header := http.Header{}
	r.setHeader(header, now)
	return header
}

// setHeader sets the fields in the header of a server's response.
func (r *response) setHeader(header http.Header, now time.Time) {
	// All values are in one array, and the values that are made here are in one string.
	var made [64]byte
	text := now.Add(r.ahead).UTC().AppendFormat(made[:0], http.TimeFormat)
	date := len(text)
	text = strconv.AppendUint(text, uint64(crc32.ChecksumIEEE(r.body)), 10)
	checksum := len(text)
	all := string(appendInt(text, len(r.body)))
	values := [...]string{r.requestID, all[date:checksum], all[:date], all[checksum:], r.contentType, r.encoding}
	// The names are in their canonical form already.
	header["X-Amzn-Requestid"] = values[0:1:1]
	if r.hasChecksum() {
		header["X-Amz-Crc32"] = values[1:2:2]
	}
	header["Date"] = values[2:3:3]
	header["Content-Length"] = values[3:4:4]
	// A nil value keeps net/http from guessing one.
	header["Content-Type"] = nil
	if r.contentType != "" {
		header["Content-Type"] = values[4:5:5]
	}
	if r.encoding != "" {
		header["Content-Encoding"] = values[5:6:6]
	}
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

// newRequestID returns 52 random letters and digits, like DynamoDB's request ids.
func newRequestID() string {
	const digits, each = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 12
	var id [52]byte
	var bits uint64
	for i := range id {
		if i%each == 0 {
			bits = rand.Uint64() //nolint:gosec // an id is no secret
		}
		id[i] = digits[bits%uint64(len(digits))]
		bits /= uint64(len(digits))
	}
	return string(id[:])
}

// unreadResponse returns the response to a request whose body can't be read.
func unreadResponse(err error) *response {
	switch {
	case errors.Is(err, errTooLarge):
		return fixedResponse(http.StatusRequestEntityTooLarge, "", "")
	case errors.Is(err, errNoMemory):
		return errorResponse(busy())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fixedResponse(http.StatusRequestTimeout, "", "the body did not arrive in time\n")
	case errors.Is(err, errEncoding):
		return errorResponse(internalError())
	}
	return errorResponse(serviceError("SerializationException", ""))
}

// maxPooledBuffer is the capacity above which a buffer is not returned to the pool.
const maxPooledBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) } //nolint:forcetypeassert // the pool holds nothing else

func giveBuffer(buffer *[]byte) {
	if cap(*buffer) <= maxPooledBuffer {
		*buffer = (*buffer)[:0]
		buffers.Put(buffer)
	}
}

// separate appends a comma unless the element is the first.
func separate(dst []byte, index int) []byte {
	if index > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// appendName appends the name of the next member of the object that dst ends with.
func appendName(dst []byte, name string) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
