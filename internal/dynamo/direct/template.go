package direct

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// template is a request as the SDK sent it, without its body, date and signature.
type template struct {
	scope

	url       *url.URL
	host      string // as in http.Request: empty means the URL's host
	header    http.Header
	accessKey string
	// signer has signed a sample as the SDK does.
	signer *signer
	// clockOffset is the SDK's signing time minus this machine's time. The SDK has learned it from
	// the service.
	clockOffset time.Duration
}

// headers lists the headers that a template may have. Headers with the value true are copied. The
// others are set for each request, or concern the SDK's retries.
var headers = map[string]bool{
	"Accept-Encoding": true, "Content-Type": true, "User-Agent": true, "X-Amz-Target": true,
	"Amz-Sdk-Invocation-Id": false, "Amz-Sdk-Request": false, lengthHeader: false,
	authorizationHeader: false, dateHeader: false, tokenHeader: false,
}

// newTemplate returns the template of a request that the SDK is about to send. It returns nil if
// the request has an unknown header or an authorization of an unknown form.
func newTemplate(r *http.Request) *template {
	t := &template{url: new(*r.URL), host: r.Host, header: http.Header{}}
	for name, values := range r.Header {
		copied, known := headers[name]
		if !known {
			return nil
		}
		if copied {
			t.header[name] = slices.Clone(values)
		}
	}
	credential, ok := strings.CutPrefix(r.Header.Get(authorizationHeader), algorithm+" Credential=")
	credential, _, _ = strings.Cut(credential, ",")
	parts := strings.Split(credential, "/") // access key, day, region, service, "aws4_request"
	signed, err := time.Parse(timeOfRequest, r.Header.Get(dateHeader))
	if !ok || len(parts) != 5 || err != nil { //nolint:mnd // the parts are named above
		return nil
	}
	t.accessKey, t.scope, t.clockOffset = parts[0], scope{parts[2], parts[3]}, time.Until(signed)
	return t
}

// request returns a request of the template with a body, without a signature.
func (t *template) request(ctx context.Context, body []byte) *http.Request {
	// URL and header are copies, because the signer and an HTTP client may change them. There is no
	// GetBody, as in the SDK's requests: with it, an HTTP client that follows redirects could send
	// the body to another host.
	r := http.Request{
		Method: http.MethodPost, URL: new(*t.url), Host: t.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: t.header.Clone(), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	return r.WithContext(ctx)
}

// capture is the HTTP client for a request of the SDK, which it stores as the template of its
// operation.
type capture struct {
	client    aws.HTTPClient
	sender    *Sender
	operation Operation
}

// Do sends the request and stores its template if it succeeds. It does not store a template if the
// response has no checksum, because such responses are not decoded here, or if only the SDK can
// sign the requests.
func (c *capture) Do(r *http.Request) (*http.Response, error) {
	t := newTemplate(r) // before the HTTP client, which may change the request
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	if _, checked := response.Body.(*checkedBody); checked && response.StatusCode == http.StatusOK && t != nil {
		if t.signer = c.sender.signerOf(r.Context(), t); t.signer != nil {
			c.sender.templates.Store(c.operation, t)
		}
	}
	return response, nil
}
