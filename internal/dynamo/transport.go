package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// ownBodies is the HTTP client that the SDK sends with. It replaces the body of a request by one in
// memory, for two reasons:
//
//   - The SDK closes its body as soon as the response headers have come, and WriteTo of a closed
//     body returns io.EOF. net/http calls it after a large body, to see whether there is more. If
//     the response was fast, as over loopback, net/http takes the request for broken and closes the
//     connection.
//   - net/http does not know that the SDK's body is in memory, and so sends the headers in a write
//     of their own, which wakes up the service twice.
type ownBodies struct{ aws.HTTPClient }

// Do sends a request of the SDK.
func (c ownBodies) Do(r *http.Request) (*http.Response, error) {
	if err := ownBody(r); err != nil {
		return nil, err
	}
	return c.HTTPClient.Do(r)
}

// ownBody replaces the body of a request by one in memory.
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

// transport is the HTTP client that every request is sent with, by the SDK and directly. It checks
// responses and learns the service's time from them.
type transport struct {
	inner    aws.HTTPClient
	endpoint *endpoint
	clock    *clock.Clock
}

// checkedKey is the context key of the [clock.Moment] before an attempt's check. A context carries
// it, as the SDK has no other way to give a value of an attempt to its HTTP client for every
// operation alike.
type checkedKey struct{}

// withChecked returns a context for an attempt whose check began at a moment.
func withChecked(ctx context.Context, m clock.Moment) context.Context {
	return context.WithValue(ctx, checkedKey{}, m)
}

// maxUnsent bounds the time between the check before an attempt and its sending.
const maxUnsent = time.Minute

// errSlept is the failure of an attempt that was not sent, as the machine slept after the check
// that allowed it. The next attempt is checked again.
var errSlept = errors.New("the machine slept before the request was sent")

// Do sends a request and checks the response. The SDK would check a checksum only when the response
// is closed, and ignore the error: a damaged response would be taken for an acknowledgement.
//
// A machine that sleeps between the check and the signing would sign what the check no longer
// allows with the current date. So the time is compared here, after the signing. A sleep after that
// is harmless: the service refuses signatures that are older than 15 minutes.
func (t transport) Do(r *http.Request) (*http.Response, error) {
	checked, ok := r.Context().Value(checkedKey{}).(clock.Moment)
	if ok && t.clock.Since(checked) > maxUnsent {
		return nil, errSlept
	}
	response, err := t.exchange(r)
	if err != nil {
		return nil, err
	}
	// A response that waited here while the machine slept has an old date.
	if datedByService(response) && (!ok || t.clock.Since(checked) <= maxUnsent) {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			t.clock.Learn(date)
		}
	}
	return response, nil
}

// exchange sends a request, and returns its response if that is the service's, and whole.
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

// datedByService reports whether the Date of a response is the service's. An error without a
// checksum can come from a proxy.
func datedByService(response *http.Response) bool {
	return response.StatusCode == http.StatusOK || response.Header.Get(direct.ChecksumHeader) != ""
}
