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
	// maxBody is larger than any response of DynamoDB: the largest hold 16 MB of items.
	maxBody = 64 << 20
	// maxPrealloc bounds the memory that is allocated for a Content-Length before the body has
	// come.
	maxPrealloc = 64 << 10
	// maxKept is the capacity of the largest buffer that is used again. It holds a page of 1 MB in
	// base64, with the names around it.
	maxKept = 2 << 20
)

var (
	errBodyTooLarge  = errors.New("the response is larger than any of DynamoDB's")
	errWrongChecksum = errors.New("the response does not have the checksum of its header")
)

// ReadChecked reads the body of a response that has a checksum into memory, and compares the two.
// After an error the body is closed.
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

// readAll reads a body whose length is stated, -1 if it is unknown. The memory that it takes is
// bounded by what has come, not by what is stated: many responses that state too much take little.
func readAll(buffer *bytes.Buffer, body io.Reader, length int64) error {
	if length > maxBody {
		return errBodyTooLarge
	}
	buffer.Grow(int(min(max(length, 0), maxPrealloc)) + bytes.MinRead)
	n, err := buffer.ReadFrom(io.LimitReader(body, maxPrealloc))
	if err != nil || n < maxPrealloc {
		return err
	}
	buffer.Grow(max(int(min(length, maxKept))-buffer.Len(), 0) + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(body, maxBody+1-n)); err != nil {
		return err
	}
	if buffer.Len() > maxBody {
		return errBodyTooLarge
	}
	return nil
}

// checkedBody is a body in memory whose checksum was right. Close gives its buffer back.
type checkedBody struct {
	*bytes.Reader

	buffer *bytes.Buffer
}

// buffers are for bodies. What package wire decodes keeps nothing of them.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func newCheckedBody(buffer *bytes.Buffer) *checkedBody {
	return &checkedBody{bytes.NewReader(buffer.Bytes()), buffer}
}

// Close gives the buffer back. The body is empty then.
func (b *checkedBody) Close() error {
	if b.buffer != nil && b.buffer.Cap() <= maxKept {
		b.buffer.Reset()
		buffers.Put(b.buffer)
	}
	b.buffer = nil
	b.Reset(nil)
	return nil
}
