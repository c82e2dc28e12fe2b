package embedded

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport returns an http.RoundTripper that sends requests with base, and reads each request body
// into memory first. Defaults to http.DefaultTransport if base is nil. It is safe for concurrent
// use if base is.
//
// It is for clients of the AWS SDK for Go that reach a served engine over HTTP/1.1. Without it they
// lose connections: the SDK closes the body of a request as soon as the headers of the response
// have arrived, and WriteTo of its closed body returns io.EOF. net/http calls WriteTo once more
// after the last byte of a body, to see whether there is more. If the response is faster than
// that, as over loopback, net/http takes the request for broken and closes the connection. The part
// of the response that is not read yet is lost, and the SDK repeats the request after a pause. It
// affects responses that are larger than a transport's read buffer, by default 4 KB.
//
// A body whose length is not announced is sent as it is. Errors of reading a body are returned. The
// client of [Engine.AWSConfig] needs no such transport, as it has no connections.
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

// CloseIdleConnections closes those of base. http.Client.CloseIdleConnections calls it.
func (m memoryBodies) CloseIdleConnections() {
	if closer, ok := m.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
