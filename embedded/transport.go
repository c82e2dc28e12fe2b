package embedded

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Region is the AWS region of the engine.
const Region = "us-east-1"

// endpoint is the base URL of requests through Transport, which ignores the host.
const endpoint = "http://dynamodb.embedded.invalid"

// AWSConfig returns a configuration for the AWS SDK whose clients use this engine within the
// process, without sockets. Its credentials are not real.
func (e *Engine) AWSConfig() aws.Config {
	credentials := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "embedded", SecretAccessKey: "embedded", Source: "embedded"}, ctx.Err()
	})
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials,
		HTTPClient:   transport{engine: e},
	}
}

// Transport returns an http.RoundTripper that sends every request to this engine within the
// process, regardless of its host.
func (e *Engine) Transport() http.RoundTripper { return transport{engine: e} }

type transport struct{ engine *Engine }

// Do implements the HTTPClient of the SDK.
func (t transport) Do(request *http.Request) (*http.Response, error) { return t.RoundTrip(request) }

// RoundTrip performs the request on the caller's goroutine.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, closeBody(request, err)
	}
	response, err := t.engine.respond(request, nil)
	if err = closeBody(request, err); err != nil {
		if response != nil {
			response.release()
		}
		return nil, fmt.Errorf("in-process request: %w", err)
	}
	return response.deliver(&http.Response{
		Status:        fmt.Sprintf("%d %s", response.status, http.StatusText(response.status)),
		StatusCode:    response.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        response.header(t.engine.now()),
		Body:          &responseBody{rest: response.body, response: response},
		ContentLength: int64(len(response.body)),
		Request:       request,
	})
}

func closeBody(request *http.Request, err error) error {
	if request.Body == nil {
		return err
	}
	if closing := request.Body.Close(); err == nil {
		return closing
	}
	return err
}

// responseBody releases the response when it is closed. It is empty afterwards.
type responseBody struct {
	rest     []byte
	response *response
}

// Read reads the next bytes of the response.
func (b *responseBody) Read(dst []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close releases the response.
func (b *responseBody) Close() error {
	b.rest = nil
	b.response.release()
	return nil
}
