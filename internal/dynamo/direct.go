package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// direct sends plain requests past the SDK's layers, which for a small request take more time than all the rest. It does nothing
// that the SDK has not shown it: the last request of an operation on a table that went through the SDK and succeeded is the
// example that the next ones are like, in all but body, date and signature. And it judges nothing: an answer that is no plain
// success, or an error, goes to the SDK as if that had sent the request; after an error the next request of that operation goes
// through the SDK, too, to be the new example. docs/decisions/0010-direct-requests.md has the measurements.
//
// Invariants:
//   - one try sends one request: after send, ask never says that the SDK has to send it, only that it has to judge (reply);
//   - only a whole answer of status 200 with the right checksum, all of which is understood, is a success without the SDK;
//   - an example is how the SDK made its request, not what became of it on its way, and it is never changed.
type direct struct {
	transport   transport
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	examples    sync.Map // of *example, by examined
}

// newDirect is nil where the SDK must have every request.
func newDirect(o *Options, sending transport) *direct {
	if o.SDKCodec || !alike(&o.AWS) {
		return nil
	}
	return &direct{transport: sending, credentials: o.AWS.Credentials, signer: v4.NewSigner()}
}

// alike says whether the SDK sends all requests of an operation on a table alike, and nobody else sees them: its layers are all
// its own, it writes no log, and no code of the caller's says where each request goes. In AWS Lambda it gives them a trace, which
// changes with what the process is asked.
func alike(c *aws.Config) bool {
	//nolint:staticcheck // resolvers of endpoints are deprecated, and the SDK still asks them
	resolved := c.EndpointResolver != nil || c.EndpointResolverWithOptions != nil
	_, lambda := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME")
	return c.Credentials != nil && len(c.APIOptions) == 0 && len(c.ServiceOptions) == 0 && c.ClientLogMode == 0 &&
		!intercepted(c.Interceptors) && !resolved && !lambda
}

// intercepted says whether there is any interceptor. The SDK's loader of configs makes empty lists of all kinds of them.
func intercepted(all smithyhttp.InterceptorRegistry) bool {
	for _, kind := range reflect.ValueOf(all).Fields() {
		if kind.Len() > 0 {
			return true
		}
	}
	return false
}

// examined is what there is an example of. The table is a part of it, as one that is named by its ARN can have an address of its
// own.
type examined struct{ operation, table string }

// example is how the SDK has sent a request.
type example struct {
	url             *url.URL
	host            string // as http.Request has it: empty for the URL's
	header          http.Header
	accessKey       string
	region, service string
	// ahead is how far the clock that the SDK signs by is ahead of this machine's: what it has learned from the service.
	ahead time.Duration
}

// heads are the heads of a request that are understood. Those that are true stay as they are, the others are made for each
// request, or are about its tries.
var heads = map[string]bool{
	"Accept-Encoding": true, "Content-Type": true, "User-Agent": true, "X-Amz-Target": true,
	"Amz-Sdk-Invocation-Id": false, "Amz-Sdk-Request": false, "Content-Length": false,
	"Authorization": false, "X-Amz-Date": false, "X-Amz-Security-Token": false,
}

// exampleOf takes a request of the SDK for an example, before it is sent: an HTTP client may change it. It is nil if there is
// anything about it that is not understood.
func exampleOf(r *http.Request) *example {
	e := &example{url: new(*r.URL), host: r.Host, header: http.Header{}}
	for name, values := range r.Header {
		stays, known := heads[name]
		if !known {
			return nil
		}
		if stays {
			e.header[name] = slices.Clone(values)
		}
	}
	scope, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/") // access key, day, region, service, "aws4_request"
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if !ok || len(parts) != 5 || err != nil { //nolint:mnd // the parts are named above
		return nil
	}
	e.accessKey, e.region, e.service, e.ahead = parts[0], parts[2], parts[3], time.Until(signed)
	return e
}

// lesson says that a request of the SDK is to become an example. It is a value of the context under lessonKey.
type lesson struct {
	of     examined
	direct *direct
}

type lessonKey struct{}

// learn keeps an example, if its request has succeeded. Of a service that sends no checksums nothing is learned, as only answers
// with one are decoded here.
func (l *lesson) learn(e *example, answer *http.Response) {
	if _, whole := answer.Body.(*wholeBody); whole && answer.StatusCode == http.StatusOK && e != nil {
		l.direct.examples.Store(l.of, e)
	}
}

// ask sends a request, and decodes its answer into out. False says that the SDK has to do it, with the context returned: either
// nothing was sent, or the SDK finds what came of it there (reply).
func (d *direct) ask(ctx context.Context, of examined, in, out any) (context.Context, bool) {
	if d == nil {
		return ctx, false
	}
	r := d.request(ctx, of, in)
	if r == nil {
		return context.WithValue(ctx, lessonKey{}, &lesson{of, d}), false
	}
	answer, err := d.transport.send(r)
	switch {
	case err != nil || answer.StatusCode != http.StatusOK:
		d.examples.Delete(of)
	case decodePlain(ctx, answer, out):
		_ = answer.Body.Close() // it has been read
		return ctx, true
	}
	return context.WithValue(ctx, replyKey{}, &reply{answer: answer, err: err}), false
}

// request makes a request like its example; nil if that can't be done, and the SDK will say why.
func (d *direct) request(ctx context.Context, of examined, in any) *http.Request {
	known, ok := d.examples.Load(of)
	if !ok {
		return nil
	}
	body, ok := appendPlain(in)
	if !ok {
		return nil
	}
	e := known.(*example) //nolint:forcetypeassert // the map has nothing else
	credentials, err := d.credentials.Retrieve(ctx)
	if err != nil || credentials.AccessKeyID != e.accessKey {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return nil
	}
	// The signer, and an HTTP client, may change these.
	r.URL, r.Host, r.Header = new(*e.url), e.host, e.header.Clone()
	r.GetBody = nil // as the SDK has it: an HTTP client that follows redirects could send the body to somebody else
	sum := sha256.Sum256(body)
	if d.signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), e.service, e.region, time.Now().Add(e.ahead)) != nil {
		return nil
	}
	return r
}

// reply is the answer, or the error, to a request that was sent past the SDK. It is a value of the context under replyKey.
type reply struct {
	answer *http.Response
	err    error
	// taken is set when the SDK has come to it.
	taken bool
}

type replyKey struct{}

func (r *reply) take() (*http.Response, error) {
	r.taken = true
	return r.answer, r.err
}

// unseen is the error where the SDK has not come to a reply: it says so itself then, but as of a request that was not sent.
func (r *reply) unseen() error {
	if r.err != nil {
		return fmt.Errorf("send the request: %w", r.err)
	}
	_ = r.answer.Body.Close()
	return errUnseen
}

// errUnseen is the error of a request that was answered, and of whose answer the SDK would have told what it means.
var errUnseen = errors.New("the request was answered, but what the answer means could not be told")

// judging bounds how long the SDK may take to tell what came of a request. It has all that it needs, unless the credentials have
// just expired.
const judging = time.Second

// ask sends a request directly, or else through the SDK.
func ask[In, Out any](
	ctx context.Context, c *Client, of examined, in *In, bySDK func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
) (*Out, error) {
	out := new(Out)
	ctx, done := c.direct.ask(ctx, of, in, out)
	if done {
		return out, nil
	}
	sent, ok := ctx.Value(replyKey{}).(*reply)
	if !ok {
		return bySDK(ctx, in)
	}
	// What came is known, also if the caller goes, or the time of the try ends: the SDK looks at nothing then.
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), judging)
	defer end()
	out, err := bySDK(ctx, in)
	if !sent.taken {
		return nil, sent.unseen()
	}
	return out, err
}
