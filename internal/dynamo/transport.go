package dynamo

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// ownBody gives a request its body anew, from memory. The SDK's own is bad for the transport in two ways. Smithy closes it as
// soon as the head of the answer is there, and WriteTo of a closed body says that the body has ended: the transport, which
// looks for a rest after what it has written, takes that for a body that was cut short, and closes the connection under the
// answer; with answers as fast as those over loopback, some requests fail. And the transport does not know it for one that is
// in memory, so it sends the head on its own first: a second write, and a second time that the service wakes up for.
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

// transport is what the SDK sends requests by.
type transport struct{ inner aws.HTTPClient }

// Do sends a request of the SDK, unless it has been sent and answered already.
func (t transport) Do(r *http.Request) (*http.Response, error) {
	if sent, ok := r.Context().Value(replyKey{}).(*reply); ok {
		return sent.take()
	}
	if err := ownBody(r); err != nil {
		return nil, err
	}
	wanted, ok := r.Context().Value(lessonKey{}).(*lesson)
	if !ok {
		return t.send(r)
	}
	e := exampleOf(r)
	answer, err := t.send(r)
	if err == nil {
		wanted.learn(e, answer)
	}
	return answer, err
}

// send sends a request, and checks the answer's checksum. The SDK checks it only when the answer is closed, and then tells
// nobody: a damaged answer would be taken for an acknowledgement.
func (t transport) send(r *http.Request) (*http.Response, error) {
	answer, err := t.inner.Do(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport hands errors on as they are
	}
	if err := checkSum(answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// writeBuffer is the size in bytes of a connection's buffer: a request of 25 events of half a KB is one write.
const writeBuffer = 32 << 10

// buildHTTPClient makes the HTTP client with as many idle connections as requests can be under way.
func buildHTTPClient(o HTTPOptions, pool int) (*http.Client, error) {
	dialer := &awsDialer{keepAlive: o.KeepAlive, connectTimeout: o.ConnectTimeout}
	if err := dialer.from(o.LocalAddress); err != nil {
		return nil, err
	}
	transport := awshttp.NewBuildableClient().GetTransport()
	transport.DialContext = dialer.dial
	transport.MaxConnsPerHost = pool
	transport.MaxIdleConns = pool
	transport.MaxIdleConnsPerHost = pool
	transport.WriteBufferSize = writeBuffer
	if o.Transport != nil {
		o.Transport(transport)
	}
	return &http.Client{
		Transport: transport,
		// DynamoDB never redirects; following one would send a signed request elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
