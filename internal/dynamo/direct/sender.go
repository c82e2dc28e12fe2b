// Package direct sends frequent requests without the SDK's middleware, which for a small request
// takes more time than everything else. docs/decisions/0010-direct-requests.md has the
// measurements.
//
// A [Sender] only repeats requests of the SDK. The last successful request that the SDK sent for an
// operation on a table is the template of the next requests, which differ from it only in body,
// date and signature. The Sender passes every error, and every response that package wire does not
// decode, to the SDK, as if the SDK had sent the request itself. After an error, the SDK sends the
// next request of the operation, which becomes the new template.
//
// Invariants:
//   - One attempt sends one request. The SDK only interprets the outcome of a directly sent
//     request.
//   - A request succeeds without the SDK only if its response is complete, has status 200 and the
//     right checksum, and package wire decodes it.
//   - A template is used only if this package signs its requests exactly as the SDK's signer does.
//   - A template is the request as the SDK made it, before an HTTP client could change it. It is
//     immutable.
package direct

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// Operation identifies a template. It includes the table, because a table that is named by its ARN
// can have its own endpoint.
type Operation struct{ Name, Table string }

// Sender sends requests directly if it can, and otherwise through the SDK. It is safe for
// concurrent use. A nil Sender leaves everything to the SDK.
type Sender struct {
	client      aws.HTTPClient
	credentials aws.CredentialsProvider
	sdkSigner   *v4.Signer
	keys        keyCache
	// eligible is false if the SDK has to send all requests. traced is true if client sends with
	// net/http.
	eligible, traced bool
	// sdk is the SDK's protocol, which Install wraps.
	sdk       smithyhttp.ClientProtocol
	templates sync.Map // of *template by Operation
}

// New returns a Sender that sends with client. Requests are sent directly only if client reads
// responses into memory with [ReadChecked]. traced says that client sends with net/http, which
// reports writes to a trace of package httptrace.
func New(config *aws.Config, client aws.HTTPClient, traced bool) *Sender {
	return &Sender{
		client: client, credentials: config.Credentials, sdkSigner: v4.NewSigner(), eligible: eligible(config), traced: traced,
	}
}

// Alone reports whether requests run without code of the caller, such as a middleware, which could
// retain their inputs. It is false for a nil Sender.
func (s *Sender) Alone() bool { return s != nil && s.eligible }

// Install makes the SDK encode and decode plain requests and responses with package wire. It is
// called once, with the options of the client whose methods are given to [Call].
func (s *Sender) Install(o *dynamodb.Options) {
	s.sdk = o.Protocol
	o.Protocol = protocol{s.sdk, nil}
}

// Call sends a request, directly or with sdk, the method of the SDK's client for the operation. If
// items is not nil and package wire decodes the response, the items of a Query go to items instead
// of the output.
func Call[In, Out any](
	ctx context.Context, s *Sender, op Operation, in *In, items *wire.Items,
	sdk func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
) (*Out, error) {
	if s == nil {
		return sdk(ctx, in)
	}
	out := new(Out)
	sent, decoded := s.send(ctx, op, in, out, items)
	switch {
	case decoded:
		return out, nil
	case sent == nil:
		return sdk(ctx, in, s.options(op, items)...)
	}
	// The outcome is known, even if the caller has canceled or the attempt has timed out meanwhile.
	// The SDK would ignore the outcome in a context that has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interpretTimeout)
	defer cancel()
	out, err := sdk(ctx, in, sent.option(s, items))
	if !sent.seen {
		return nil, sent.unseen()
	}
	return out, err
}

// send sends a request directly. It returns true if it has decoded the response into out. Otherwise
// it returns the outcome for the SDK to interpret, or nil if nothing was sent.
func (s *Sender) send(ctx context.Context, op Operation, in, out any, items *wire.Items) (*outcome, bool) {
	memory := s.bodyFor(ctx, in)
	r := s.request(memory.within(ctx), op, in, memory)
	if r == nil {
		return nil, false
	}
	response, err := s.client.Do(r)
	memory.record(returned)
	switch {
	case err != nil || response.StatusCode != http.StatusOK:
		s.templates.Delete(op)
	case decode(response, out, items):
		_ = response.Body.Close() // it was read
		return nil, true
	}
	return &outcome{response: response, err: err}, false
}

// options returns the options of a request that the SDK sends. If it succeeds, it becomes the
// template.
func (s *Sender) options(op Operation, items *wire.Items) []func(*dynamodb.Options) {
	if !s.eligible && items == nil {
		return nil
	}
	return []func(*dynamodb.Options){func(o *dynamodb.Options) {
		if s.eligible {
			o.HTTPClient = &capture{client: o.HTTPClient, sender: s, operation: op}
		}
		if items != nil {
			o.Protocol = protocol{s.sdk, items}
		}
	}}
}

// request returns a signed request made from its template. It returns nil if there is no template,
// or if the SDK has to send the request or report the error.
func (s *Sender) request(ctx context.Context, op Operation, in any, memory *requestBody) *http.Request {
	if !s.eligible {
		return nil
	}
	stored, ok := s.templates.Load(op)
	if !ok {
		return nil
	}
	body, ok := wire.Encode(memory.buffer(), in)
	if !ok {
		return nil
	}
	if memory != nil {
		memory.json = body
	}
	t := stored.(*template) //nolint:forcetypeassert // the map has nothing else
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil || credentials.AccessKeyID != t.accessKey {
		return nil
	}
	r := t.request(ctx, body)
	t.signer.sign(r, body, &credentials, &s.keys, time.Now().Add(t.clockOffset))
	return r
}

// signerOf returns the signer of a template's requests, or nil if its signature of a sample differs
// from the SDK's.
func (s *Sender) signerOf(ctx context.Context, t *template) *signer {
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return nil
	}
	body, now, own := []byte("{}"), time.Now(), newSigner(t)
	ours, theirs := t.request(ctx, body), t.request(ctx, body)
	own.sign(ours, body, &credentials, &s.keys, now)
	sum := sha256.Sum256(body)
	err = s.sdkSigner.SignHTTP(ctx, credentials, theirs, hex.EncodeToString(sum[:]), t.service, t.region, now)
	if err != nil || !maps.EqualFunc(ours.Header, theirs.Header, slices.Equal[[]string]) || *ours.URL != *theirs.URL {
		return nil
	}
	return own
}
