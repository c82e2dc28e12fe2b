package direct

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"runtime"
	"testing"
)

// stating returns a response with a Content-Length, a body and the checksum of the body.
func stating(length int64, body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: length, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE(body))}},
	}
}

// The lengths are close to the lengths at which the buffer grows.
func TestResponsesOfManyLengthsAreReadWhole(t *testing.T) {
	t.Parallel()
	for _, edge := range []int{0, maxPrealloc, maxPrealloc + bytes.MinRead, maxPooled, 3 * maxPooled} {
		for _, length := range []int{max(edge-1, 0), edge, edge + 1} {
			body := bytes.Repeat([]byte("x"), length)
			for _, stated := range []int64{int64(length), -1, 0, int64(length) / 2, maxBody} {
				response := stating(stated, body)
				if err := ReadChecked(response); err != nil {
					t.Fatalf("%d bytes, %d stated: %v", length, stated, err)
				}
				got, err := io.ReadAll(response.Body)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes, %d stated: read %d bytes, error %v", length, stated, len(got), err)
				}
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Many responses in memory at once state a length of 64 MB each, and have short bodies. The test is
// not parallel, because it measures the memory of the process.
func TestResponseBody_MemoryBoundedByBody(t *testing.T) {
	const responses, most = 50, 16 << 20
	for _, length := range []int{2, maxPrealloc - 1} {
		body := bytes.Repeat([]byte("x"), length)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range responses {
			response := stating(maxBody, body)
			if err := ReadChecked(response); err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() // all are in memory at once
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%d responses of %d bytes took %d bytes, want at most %d", responses, length, got, most)
		}
	}
}

// endless is a body without end. It records whether it was closed.
type endless struct{ closed bool }

func (*endless) Read(p []byte) (int, error) { return len(p), nil }

func (e *endless) Close() error {
	e.closed = true
	return nil
}

func TestResponseThatIsTooLargeIsClosed(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{-1, 1, maxBody + 1, 1 << 62} {
		body := &endless{}
		response := stating(length, nil)
		response.Body = body
		if err := ReadChecked(response); !errors.Is(err, errBodyTooLarge) || !body.closed {
			t.Errorf("%d bytes stated: error %v, closed %t", length, err, body.closed)
		}
	}
}
