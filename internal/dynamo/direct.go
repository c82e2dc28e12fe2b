package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// direct sends plain requests past the SDK's layers, which for a small request take more time than all the rest. It does nothing
// that the SDK has not shown it: the last request of an operation that went through the SDK and succeeded is the example that the
// next ones are like, in all but body, date and signature. And it judges nothing: an answer that is no plain success, or an
// error, goes to the SDK as if that had sent the request, and the next request of that operation through the SDK, to be the new
// example. docs/decisions/0010-direct-requests.md has the measurements.
type direct struct {
	transport   transport
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	examples    sync.Map // of *example, by the operation's target
}

// newDirect is nil where the SDK must have every request: its layers are not all its own, or it writes a log.
func newDirect(o *Options, inner aws.HTTPClient) *direct {
	if o.SDKCodec || len(o.AWS.APIOptions) > 0 || len(o.AWS.ServiceOptions) > 0 || o.AWS.ClientLogMode != 0 ||
		!reflect.ValueOf(o.AWS.Interceptors).IsZero() || o.AWS.Credentials == nil {
		return nil
	}
	return &direct{transport: transport{inner: inner}, credentials: o.AWS.Credentials, signer: v4.NewSigner()}
}

// example is how the SDK has sent a request of an operation.
type example struct {
	url             *url.URL
	header          http.Header
	accessKey       string
	region, service string
	// ahead is how far the clock that the SDK signs by is ahead of this machine's: what it has learned from the service.
	ahead time.Duration
}

const (
	headTarget        = "X-Amz-Target"
	headDate          = "X-Amz-Date"
	headAuthorization = "Authorization"
	headUserAgent     = "User-Agent"
	dateLayout        = "20060102T150405Z"
	targetPrefix      = "DynamoDB_20120810."
)

// heads are the heads of a request that are understood. Those that are true stay as they are, the others are made for each
// request, or are about its tries.
var heads = map[string]bool{
	"Accept-Encoding": true, "Content-Type": true, headUserAgent: true, headTarget: true,
	"Amz-Sdk-Invocation-Id": false, "Amz-Sdk-Request": false, "Content-Length": false,
	headAuthorization: false, headDate: false, "X-Amz-Security-Token": false,
}

// learn takes a request of the SDK for an example, if it has succeeded, and everything about it is understood. Of a service that
// sends no checksums nothing is learned, as only answers with one are decoded here.
func (d *direct) learn(r *http.Request, answer *http.Response) {
	if _, whole := answer.Body.(*wholeBody); !whole || answer.StatusCode != http.StatusOK {
		return
	}
	e := &example{url: r.URL, header: http.Header{}}
	for name, values := range r.Header {
		stays, known := heads[name]
		if !known {
			return
		}
		if stays {
			e.header[name] = values
		}
	}
	scope, ok := strings.CutPrefix(r.Header.Get(headAuthorization), "AWS4-HMAC-SHA256 Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/") // access key, day, region, service, "aws4_request"
	signed, err := time.Parse(dateLayout, r.Header.Get(headDate))
	if !ok || len(parts) != 5 || err != nil { //nolint:mnd // the parts are named above
		return
	}
	e.accessKey, e.region, e.service = parts[0], parts[2], parts[3]
	if ahead := time.Until(signed); ahead.Abs() > longestTry {
		e.ahead = ahead
	}
	d.examples.Store(r.Header.Get(headTarget), e)
}

// longestTry is a time within which a request is answered, and that is too short to make a signature invalid.
const longestTry = time.Minute

// ask sends a request, and decodes its answer into out. False says that the SDK has to do it, with the context returned: that has
// the answer, if there is one.
func (d *direct) ask(ctx context.Context, operation string, in, out any) (context.Context, bool) {
	if d == nil {
		return ctx, false
	}
	target := targetPrefix + operation
	known, ok := d.examples.Load(target)
	if !ok {
		return ctx, false
	}
	body, ok := appendPlain(in)
	if !ok {
		return ctx, false
	}
	r, ok := d.request(ctx, known.(*example), body) //nolint:forcetypeassert // the map has nothing else
	if !ok {
		return ctx, false
	}
	answer, err := d.transport.send(r)
	switch {
	case err != nil || answer.StatusCode != http.StatusOK:
		d.examples.Delete(target)
	case decodePlain(ctx, answer, out):
		return ctx, answer.Body.Close() == nil
	}
	return context.WithValue(ctx, repliedKey{}, &reply{answer: answer, err: err}), false
}

// request makes a request like the example; false if that can't be done, and the SDK will say why.
func (d *direct) request(ctx context.Context, e *example, body []byte) (*http.Request, bool) {
	credentials, err := d.credentials.Retrieve(ctx)
	if err != nil || credentials.AccessKeyID != e.accessKey {
		return nil, false
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	r.URL, r.Host, r.Header = new(*e.url), e.url.Host, maps.Clone(e.header) // which the signer changes
	sum := sha256.Sum256(body)
	err = d.signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), e.service, e.region, time.Now().Add(e.ahead))
	return r, err == nil
}

// reply is the answer, or the error, to a request that was sent past the SDK. It is a value of the context under repliedKey.
type reply struct {
	answer *http.Response
	err    error
	// taken is set when the SDK has come to it.
	taken bool
}

type repliedKey struct{}

func (r *reply) take() (*http.Response, error) {
	r.taken = true
	return r.answer, r.err
}

// errUnseen is the error of a request that was sent, and of whose answer the SDK would have told what it means. It stands in the
// place of an error of the SDK's that says that nothing was sent.
var errUnseen = errors.New("the request was sent, but what came of it could not be judged")

// ask sends a request directly, or else through the SDK.
func ask[In, Out any](
	ctx context.Context, c *Client, operation string, in *In,
	bySDK func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
) (*Out, error) {
	out := new(Out)
	ctx, done := c.direct.ask(ctx, operation, in, out)
	if done {
		return out, nil
	}
	out, err := bySDK(ctx, in)
	if sent, ok := ctx.Value(repliedKey{}).(*reply); ok && !sent.taken {
		if sent.answer != nil {
			_ = sent.answer.Body.Close()
		}
		return nil, errUnseen
	}
	return out, err
}
