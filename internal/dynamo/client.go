// Package dynamo sends requests to DynamoDB. It is the only package that sends with the SDK, and
// the only one that retries: it bounds the requests in flight, repeats attempts with full jitter,
// sends the unprocessed part of a batch again, lets writers share requests, and adds up the cost of
// every attempt.
package dynamo

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// Options configure a Client. All fields are required, unless they say otherwise.
type Options struct {
	AWS aws.Config
	// UserAgent is added to the SDK's own; empty for nothing.
	UserAgent string
	// HTTP configures connections, where AWS has no HTTP client or one of the SDK's own type.
	HTTP HTTPOptions
	// MaxInFlight bounds the requests in flight at once.
	MaxInFlight int
	// Retries is how many further attempts a request has after other failures than throttling; 0 is
	// none, also after throttling. A throttled request has as many as OperationTimeout allows.
	Retries int
	// BackoffBase is the longest first pause. It doubles for each further one, up to BackoffCap.
	// The pause is drawn evenly from zero to the longest (full jitter), so that writers that were
	// throttled at the same time do not come back at the same time.
	BackoffBase, BackoffCap time.Duration
	// AttemptTimeout bounds one attempt. OperationTimeout bounds a request with all its attempts,
	// from the start of the first.
	AttemptTimeout, OperationTimeout time.Duration
	// MaxBatchGet and MaxBatchWrite bound the keys and the items of one batch request.
	MaxBatchGet, MaxBatchWrite int
	// SDKCodec leaves the encoding, sending and decoding of all requests to the SDK.
	SDKCodec bool
	// Clock learns the service's time from its responses. Defaults to the machine's clock.
	Clock *clock.Clock
	// Observe is called after each attempt, if set, from the goroutine that made it.
	Observe func(ctx context.Context, attempt Attempt)
}

// HTTPOptions configure the HTTP client. Zero values keep the settings of AWS.HTTPClient, or else
// the SDK's defaults.
type HTTPOptions struct {
	// Transport changes the transport before its first use.
	Transport func(*http.Transport)
	// ConnectTimeout bounds the opening of a connection. KeepAlive is the pause between TCP
	// keep-alive probes; negative for none.
	ConnectTimeout, KeepAlive time.Duration
	// LocalAddress is the IP address to connect from; empty for any.
	LocalAddress string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	api *dynamodb.Client
	// sender is nil with Options.SDKCodec.
	sender   *direct.Sender
	endpoint *endpoint
	opts     Options
	slots    chan struct{} // has an element for each request in flight
	idle     func()
	// writes knows whether a write was done or may have been done.
	writes Meter
}

// New returns a client. It sends nothing.
func New(opts Options) (*Client, error) {
	if opts.Clock == nil {
		opts.Clock = clock.System()
	}
	c := &Client{opts: opts, slots: make(chan struct{}, opts.MaxInFlight), idle: func() {}, endpoint: &endpoint{}}
	inner := opts.AWS.HTTPClient
	if base := baseOf(inner); base != nil {
		built, err := buildHTTPClient(base, opts.HTTP, opts.MaxInFlight)
		if err != nil {
			return nil, err
		}
		inner = built
		c.idle = built.CloseIdleConnections
	}
	checked := transport{inner, c.endpoint, opts.Clock}
	if !opts.SDKCodec {
		c.sender = direct.New(&opts.AWS, checked, baseOf(opts.AWS.HTTPClient) != nil)
	}
	c.api = dynamodb.NewFromConfig(opts.AWS, func(o *dynamodb.Options) {
		o.HTTPClient = ownBodies{checked}
		o.DisableValidateResponseChecksum = true // transport checks it
		o.Retryer = aws.NopRetryer{}             // this package retries
		if opts.UserAgent != "" {
			o.APIOptions = append(o.APIOptions, middleware.AddUserAgentKey(opts.UserAgent))
		}
		if c.sender != nil {
			c.sender.Install(o)
		}
		o.EndpointDiscovery.EnableEndpointDiscovery = aws.EndpointDiscoveryDisabled
	})
	return c, nil
}

// Close closes the idle connections that the client itself opened. It does not wait for requests in
// flight.
func (c *Client) Close() { c.idle() }

// Clock returns the clock that learns the service's time from its responses.
func (c *Client) Clock() *clock.Clock { return c.opts.Clock }

// MaxInFlight returns how many requests can be in flight at once. More goroutines than that gain
// nothing.
func (c *Client) MaxInFlight() int { return c.opts.MaxInFlight }
