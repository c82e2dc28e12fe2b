package doctor

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// wire is an HTTP client that checks the responses of the service.
type wire struct {
	inner aws.HTTPClient

	mu        sync.Mutex
	responses int
	// wrong has the first response that lacks something.
	wrong string
	proto string
	// unchecked is the number of responses without a checksum.
	unchecked int
}

// Do sends a request with the inner client.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	inner := w.inner
	if inner == nil {
		inner = http.DefaultClient
	}
	response, err := inner.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	w.note(response, body)
	return response, nil
}

// note checks a response.
func (w *wire) note(response *http.Response, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.responses++
	w.proto = response.Proto
	wrong := ""
	if response.Header.Get("X-Amz-Crc32") == "" {
		w.unchecked++
	}
	sum, err := strconv.ParseUint(response.Header.Get("X-Amz-Crc32"), 10, 32)
	switch {
	case err == nil && sum != uint64(crc32.ChecksumIEEE(body)) && response.Header.Get("Content-Encoding") == "" && !response.Uncompressed:
		wrong = "a wrong checksum"
	case response.Header.Get("X-Amzn-Requestid") == "":
		wrong = "no id"
	case response.Header.Get("Date") == "":
		wrong = "no date"
	}
	if w.wrong == "" && wrong != "" {
		w.wrong = fmt.Sprintf("a response with status %d has %s", response.StatusCode, wrong)
	}
}

// seen returns the numbers of responses and of those without a checksum, a fault of a response, and
// the version of HTTP.
func (w *wire) seen() (responses, unchecked int, wrong, proto string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.responses, w.unchecked, w.wrong, w.proto
}
