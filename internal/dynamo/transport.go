package dynamo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// ownBodies is the HTTP client of the SDK. It replaces the body of a request with one in memory,
// for two reasons:
//
//   - The SDK closes its body as soon as the response headers arrive, and WriteTo of a closed body
//     returns io.EOF. net/http calls WriteTo after a large body, to see whether there is more. If
//     the response was fast, as over loopback, net/http considers the request broken and closes the
//     connection.
//   - net/http does not know that the SDK's body is in memory, and so sends the headers in a
//     separate write, which wakes up the service twice.
type ownBodies struct{ aws.HTTPClient }

// Do sends a request of the SDK.
func (c ownBodies) Do(r *http.Request) (*http.Response, error) {
	if err := ownBody(r); err != nil {
		return nil, err
	}
	return c.HTTPClient.Do(r)
}

// ownBody replaces the body of a request with one in memory.
func ownBody(r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength <= 0 {
		return nil
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := r.Body.Close(); err != nil {
		return fmt.Errorf("close the request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// transport is the HTTP client of every request, whether sent by the SDK or directly. It checks
// responses and learns the service's time from them.
type transport struct {
	inner    aws.HTTPClient
	endpoint *endpoint
	clock    *clock.Clock
}

// sendingKey is the context key of an attempt's *sending. The SDK has no other way to pass a value
// of an attempt to its HTTP client that is the same for every operation.
type sendingKey struct{}

// sending passes values between an attempt and transport.
type sending struct {
	// checked is the moment at which the check before the attempt started.
	checked clock.Moment
	// requestID is the service's id of the request. It is set when the response has arrived.
	requestID string
}

// requestIDHeader is the header with the service's id of a request. Source:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
const requestIDHeader = "X-Amzn-Requestid"

// maxUnsent bounds the time between the check before an attempt and the moment it is sent.
const maxUnsent = time.Minute

// errSlept is the failure of an attempt that was not sent because the machine slept after the check
// that allowed it. The next attempt is checked again.
var errSlept = errors.New("the machine slept before the request was sent")

// Do sends a request and checks the response. The SDK would check a checksum only when the response
// is closed, and ignore the error, so a damaged response would count as an acknowledgment.
//
// If the machine sleeps between the check and the signature, the request gets the current date
// although the check would no longer allow it. So the time is compared here, after signing. A sleep
// after that is harmless: the service refuses signatures that are older than 15 minutes.
func (t transport) Do(r *http.Request) (*http.Response, error) {
	attempt, ok := r.Context().Value(sendingKey{}).(*sending)
	if ok && t.clock.Since(attempt.checked) > maxUnsent {
		return nil, errSlept
	}
	response, err := t.exchange(r)
	if err != nil {
		return nil, err
	}
	if ok {
		attempt.requestID = response.Header.Get(requestIDHeader)
	}
	// A response that waited here while the machine slept has an old date.
	if datedByService(response) && (!ok || t.clock.Since(attempt.checked) <= maxUnsent) {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			t.clock.Learn(date)
		}
	}
	return response, nil
}

// exchange sends a request, and returns the response if it comes from the service and is complete.
func (t transport) exchange(r *http.Request) (*http.Response, error) {
	response, err := t.inner.Do(r)
	if err != nil {
		return nil, err
	}
	if err := t.endpoint.check(response); err != nil {
		return nil, err
	}
	return response, nil
}

// datedByService reports whether the service set the Date of a response. An error without a
// checksum can come from a proxy.
func datedByService(response *http.Response) bool {
	return response.StatusCode == http.StatusOK || response.Header.Get(direct.ChecksumHeader) != ""
}
