package direct

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// ChecksumHeader is the header with the CRC-32 of the body. DynamoDB sends it with every response,
// errors included; DynamoDB Local only with successes.
const ChecksumHeader = "X-Amz-Crc32"

const (
	// maxBody is larger than any response of DynamoDB: the largest have 16 MB of items.
	maxBody = 64 << 20
	// maxPrealloc bounds the memory that is allocated for a Content-Length before the body arrives.
	maxPrealloc = 64 << 10
	// maxPooled is the capacity of the largest buffer that is reused. A page of 1 MB in base64 fits
	// in it, with the names around the values.
	maxPooled = 2 << 20
)

var (
	errBodyTooLarge  = errors.New("the response is larger than any response of DynamoDB")
	errWrongChecksum = errors.New("the response does not match its checksum")
)

// ReadChecked reads the body of a response into memory, and checks it against the response's
// checksum. It does nothing if the response has no checksum. It closes the body if it returns an
// error.
func ReadChecked(response *http.Response) error {
	stated := response.Header.Get(ChecksumHeader)
	if stated == "" {
		return nil
	}
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool has nothing else
	body := newCheckedBody(buffer)
	err := readAll(buffer, response.Body, response.ContentLength)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		err = fmt.Errorf("read the response: %w", err)
	} else if stated != strconv.FormatUint(uint64(crc32.ChecksumIEEE(buffer.Bytes())), 10) {
		err = errWrongChecksum
	}
	if err != nil {
		return errors.Join(err, body.Close())
	}
	body.Reset(buffer.Bytes())
	response.Body = body
	return nil
}

// readAll reads a body into buffer. length is the stated length, or -1. The memory is bounded by
// the bytes that have arrived, not by length: many responses that state too large a length use
// little memory.
func readAll(buffer *bytes.Buffer, body io.Reader, length int64) error {
	if length > maxBody {
		return errBodyTooLarge
	}
	buffer.Grow(int(min(max(length, 0), maxPrealloc)) + bytes.MinRead)
	n, err := buffer.ReadFrom(io.LimitReader(body, maxPrealloc))
	if err != nil || n < maxPrealloc {
		return err
	}
	buffer.Grow(max(int(min(length, maxPooled))-buffer.Len(), 0) + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(body, maxBody+1-n)); err != nil {
		return err
	}
	if buffer.Len() > maxBody {
		return errBodyTooLarge
	}
	return nil
}

// checkedBody is a body in memory with a correct checksum. Close returns its buffer to the pool.
type checkedBody struct {
	*bytes.Reader

	buffer *bytes.Buffer
}

// buffers is the pool of response bodies. Values that package wire decodes do not refer to them.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func newCheckedBody(buffer *bytes.Buffer) *checkedBody {
	return &checkedBody{bytes.NewReader(buffer.Bytes()), buffer}
}

// Close returns the buffer to the pool. After that the body is empty.
func (b *checkedBody) Close() error {
	if b.buffer != nil && b.buffer.Cap() <= maxPooled {
		b.buffer.Reset()
		buffers.Put(b.buffer)
	}
	b.buffer = nil
	b.Reset(nil)
	return nil
}
