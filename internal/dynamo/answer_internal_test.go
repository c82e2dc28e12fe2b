package dynamo

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

// stating is an answer that states a length, and has a body and its checksum.
func stating(length int64, body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: length, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE(body))}},
	}
}

// TestAnswersOfManyLengthsAreReadWhole has answers around every length at which more room is made.
func TestAnswersOfManyLengthsAreReadWhole(t *testing.T) {
	t.Parallel()
	for _, edge := range []int{0, trustedLength, trustedLength + bytes.MinRead, maxKept, 3 * maxKept} {
		for _, length := range []int{max(edge-1, 0), edge, edge + 1} {
			body := bytes.Repeat([]byte("x"), length)
			for _, stated := range []int64{int64(length), -1, 0, int64(length) / 2, maxAnswer} {
				answer := stating(stated, body)
				if err := checkSum(answer); err != nil {
					t.Fatalf("%d bytes, %d stated: %v", length, stated, err)
				}
				got, err := io.ReadAll(answer.Body)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes, %d stated: read %d bytes, error %v", length, stated, len(got), err)
				}
				if err := answer.Body.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestAnswersThatLieAboutTheirLength states 64 MB for little: that takes little memory, even of all of them at once.
func TestAnswersThatLieAboutTheirLength(t *testing.T) { // not parallel: it measures the memory that the process takes
	const answers, most = 50, 16 << 20
	for _, length := range []int{2, trustedLength - 1} {
		body := bytes.Repeat([]byte("x"), length)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range answers {
			answer := stating(maxAnswer, body)
			if err := checkSum(answer); err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close() // all are held at once
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%d answers of %d bytes took %d bytes, want at most %d", answers, length, got, most)
		}
	}
}

// endless is a body without end, which tells whether it was closed.
type endless struct{ closed bool }

func (*endless) Read(p []byte) (int, error) { return len(p), nil }

func (e *endless) Close() error {
	e.closed = true
	return nil
}

func TestAnswerThatIsTooLargeIsClosed(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{-1, 1, maxAnswer + 1, 1 << 62} {
		body := &endless{}
		answer := stating(length, nil)
		answer.Body = body
		if err := checkSum(answer); !errors.Is(err, errAnswerTooLarge) || !body.closed {
			t.Errorf("%d bytes stated: error %v, closed %t", length, err, body.closed)
		}
	}
}
