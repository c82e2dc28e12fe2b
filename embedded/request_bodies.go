package embedded

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport returns an http.RoundTripper that sends requests with base, and reads each request body
// into memory first. A nil base means http.DefaultTransport. The RoundTripper is safe for
// concurrent use if base is.
//
// Use it for clients of the AWS SDK for Go that call a served engine over HTTP/1.1. Without it they
// lose connections: the SDK closes the body of a request as soon as the headers of the response
// have arrived, and WriteTo of the closed body returns io.EOF. net/http calls WriteTo once more
// after the last byte of a body, to check whether there is more. If the response arrives before
// that, as it can over loopback, net/http considers the request broken and closes the connection.
// The unread part of the response is lost, and the SDK repeats the request after a pause. This
// affects responses that are larger than a transport's read buffer, by default 4 KB.
//
// A body without an announced length is sent unchanged. Errors of reading a body are returned.
// Clients of [Engine.AWSConfig] do not need this transport, as they have no connections.
func Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return memoryBodies{base}
}

// memoryBodies is the result of Transport.
type memoryBodies struct{ base http.RoundTripper }

// RoundTrip sends a request whose body is in memory.
func (m memoryBodies) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody || request.ContentLength <= 0 {
		return m.base.RoundTrip(request)
	}
	// One byte more, so that net/http notices a body that is longer than announced.
	source := io.LimitReader(request.Body, request.ContentLength+1)
	var body bytes.Buffer
	body.Grow(int(min(request.ContentLength, smallBody)) + bytes.MinRead)
	_, err := body.ReadFrom(source)
	if err = closeBody(request, err); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	// A RoundTripper must not change the request of its caller. net/http knows that this body is in
	// memory, and sends it in one write with the headers.
	sent := request.WithContext(request.Context())
	sent.Body = io.NopCloser(&body)
	return m.base.RoundTrip(sent)
}

// CloseIdleConnections closes the idle connections of base. http.Client.CloseIdleConnections calls
// it.
func (m memoryBodies) CloseIdleConnections() {
	if closer, ok := m.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
