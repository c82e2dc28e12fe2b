package direct

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// template is a request as the SDK sent it, without its body, date and signature.
type template struct {
	url             *url.URL
	host            string // that of http.Request: empty for the URL's
	header          http.Header
	accessKey       string
	region, service string
	// clockOffset is how far the clock that the SDK signs with is ahead of this machine's: the SDK
	// has learned it from the service.
	clockOffset time.Duration
}

// headers are the headers that a template may have. Those that are true are copied. The others are
// set for each request, or concern the SDK's retries.
var headers = map[string]bool{
	"Accept-Encoding": true, "Content-Type": true, "User-Agent": true, "X-Amz-Target": true,
	"Amz-Sdk-Invocation-Id": false, "Amz-Sdk-Request": false, "Content-Length": false,
	"Authorization": false, "X-Amz-Date": false, "X-Amz-Security-Token": false,
}

// newTemplate returns the template of a request that the SDK is about to send, nil if the request
// has a header or an authorization of an unknown form.
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
	scope, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/") // access key, day, region, service, "aws4_request"
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if !ok || len(parts) != 5 || err != nil { //nolint:mnd // the parts are named above
		return nil
	}
	t.accessKey, t.region, t.service, t.clockOffset = parts[0], parts[2], parts[3], time.Until(signed)
	return t
}

// capture is the HTTP client of a request of the SDK that becomes the template of its operation.
type capture struct {
	client    aws.HTTPClient
	sender    *Sender
	operation Operation
}

// Do sends the request and stores its template if it succeeds. A service whose responses have no
// checksum gets no template, as its responses are not decoded here.
func (c *capture) Do(r *http.Request) (*http.Response, error) {
	t := newTemplate(r) // before the HTTP client, which may change the request
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // an HTTP client returns errors unchanged
	}
	if _, checked := response.Body.(*checkedBody); checked && response.StatusCode == http.StatusOK && t != nil {
		c.sender.templates.Store(c.operation, t)
	}
	return response, nil
}
