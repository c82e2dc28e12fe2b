// Package direct sends frequent requests without the SDK's middleware, which for a small request
// takes more time than all the rest. docs/decisions/0010-direct-requests.md has the measurements.
//
// A [Sender] repeats what it has seen the SDK do, and adds nothing. The last successful request
// that the SDK sent for an operation on a table is the template of the next ones: they differ from
// it only in body, date and signature. And it interprets nothing: the SDK gets every error, and
// every response that package wire does not decode, as if it had sent the request itself. After an
// error the SDK sends the next request of the operation, which becomes the new template.
//
// Invariants:
//   - One attempt sends one request. The SDK only interprets the outcome of a direct one.
//   - Only a whole response with status 200 and the right checksum that package wire decodes is a
//     success without the SDK.
//   - A template is the request as the SDK made it, before an HTTP client could change it. It is
//     immutable.
package direct

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// Operation is what a template is for. The table belongs to it, as a table that is named by its ARN
// can have an endpoint of its own.
type Operation struct{ Name, Table string }

// Sender sends requests directly where it can, and through the SDK where it must. It is safe for
// concurrent use. A nil Sender leaves everything to the SDK.
type Sender struct {
	client      aws.HTTPClient
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	// eligible is false if the SDK has to send all requests.
	eligible bool
	// sdk is the SDK's protocol, which Install wraps.
	sdk       smithyhttp.ClientProtocol
	templates sync.Map // of *template by Operation
}

// New returns a Sender that sends with client. A client that reads checked responses into memory
// with [ReadChecked] is needed for any request to be sent directly.
func New(config *aws.Config, client aws.HTTPClient) *Sender {
	return &Sender{client: client, credentials: config.Credentials, signer: v4.NewSigner(), eligible: eligible(config)}
}

// Install makes the SDK encode and decode plain requests and responses with package wire. It is
// called once, with the options of the client whose methods are given to [Call].
func (s *Sender) Install(o *dynamodb.Options) {
	s.sdk = o.Protocol
	o.Protocol = protocol{s.sdk, nil}
}

// Call sends a request, directly or with sdk, the method of the SDK's client for the operation. The
// items of a Query go to items instead of the output where package wire decodes the response; nil
// leaves them in the output.
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
	// The outcome is known, also if the caller has gone or the attempt's time is over meanwhile.
	// The SDK would not look at it in a context that has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interpretTimeout)
	defer cancel()
	out, err := sdk(ctx, in, sent.option(s, items))
	if !sent.seen {
		return nil, sent.unseen()
	}
	return out, err
}

// send sends a request directly. It returns true if out has the decoded response, else the outcome
// for the SDK to interpret, nil if nothing was sent.
func (s *Sender) send(ctx context.Context, op Operation, in, out any, items *wire.Items) (*outcome, bool) {
	r := s.request(ctx, op, in)
	if r == nil {
		return nil, false
	}
	response, err := s.client.Do(r)
	switch {
	case err != nil || response.StatusCode != http.StatusOK:
		s.templates.Delete(op)
	case decode(response, out, items):
		_ = response.Body.Close() // it was read
		return nil, true
	}
	return &outcome{response: response, err: err}, false
}

// options returns the options of a request that the SDK sends. It becomes the template.
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

// request returns a signed request like its template. It returns nil if there is none, or if the
// SDK has to send the request or return the error.
func (s *Sender) request(ctx context.Context, op Operation, in any) *http.Request {
	if !s.eligible {
		return nil
	}
	stored, ok := s.templates.Load(op)
	if !ok {
		return nil
	}
	body, ok := wire.Encode(in)
	if !ok {
		return nil
	}
	t := stored.(*template) //nolint:forcetypeassert // the map has nothing else
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil || credentials.AccessKeyID != t.accessKey {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return nil
	}
	// These are copies, as the signer and an HTTP client may change them.
	r.URL, r.Host, r.Header = new(*t.url), t.host, t.header.Clone()
	// As in the SDK's requests: with GetBody, an HTTP client that follows redirects could send the
	// body to another host.
	r.GetBody = nil
	sum := sha256.Sum256(body)
	now := time.Now().Add(t.clockOffset)
	if s.signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), t.service, t.region, now) != nil {
		return nil
	}
	return r
}
