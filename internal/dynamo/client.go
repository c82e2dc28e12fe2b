// Package dynamo sends requests to DynamoDB. It is the only package that sends with the SDK, and
// the only one that retries. It bounds the requests in flight, repeats attempts with full jitter,
// resends the unprocessed part of a batch, lets writers share requests, and adds up the cost of
// every attempt.
package dynamo

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// Options configure a [Client]. All fields are required, unless their comment says otherwise.
type Options struct {
	AWS aws.Config
	// UserAgent is added to the SDK's user agent, unless it is empty.
	UserAgent string
	// HTTP configures connections. It applies if AWS.HTTPClient is nil or of the SDK's own type.
	HTTP HTTPOptions
	// MaxInFlight bounds the requests in flight at once.
	MaxInFlight int
	// Retries bounds the further attempts of a request after failures other than throttling. After
	// throttling, OperationTimeout alone bounds them. 0 means no further attempt after any failure.
	Retries int
	// BackoffBase is the upper bound of the first pause. The bound doubles for each further pause,
	// up to BackoffCap. Each pause is drawn uniformly from zero to its bound (full jitter), so that
	// writers that were throttled at the same time do not retry at the same time.
	BackoffBase, BackoffCap time.Duration
	// AttemptTimeout bounds one attempt. OperationTimeout bounds a request with all its attempts,
	// from the start of the first one.
	AttemptTimeout, OperationTimeout time.Duration
	// MaxBatchGet bounds the keys of a BatchGetItem request, MaxBatchWrite the items of a
	// BatchWriteItem request.
	MaxBatchGet, MaxBatchWrite int
	// SDKCodec leaves the encoding, sending and decoding of all requests to the SDK.
	SDKCodec bool
	// Clock learns the service's time from its responses. Defaults to the machine's clock.
	Clock *clock.Clock
	// Observe, if set, is called after each attempt, from the goroutine that made it.
	Observe func(ctx context.Context, attempt Attempt)
	// Start, if set, is called before a request waits for a slot. The request continues with the
	// context that Start returns, which must have the values, the end and the deadline of ctx. End,
	// if set, is called with that context after the last attempt.
	Start func(ctx context.Context, request Start) context.Context
	End   func(ctx context.Context, request End)
}

// HTTPOptions configure the HTTP client. For zero values the settings of AWS.HTTPClient apply, or
// else the SDK's defaults.
type HTTPOptions struct {
	// Transport changes the transport before its first use.
	Transport func(*http.Transport)
	// ConnectTimeout bounds the time to open a connection. KeepAlive is the interval of TCP
	// keep-alive probes; a negative value disables them.
	ConnectTimeout, KeepAlive time.Duration
	// LocalAddress is the IP address to connect from. Empty means any address.
	LocalAddress string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	api *dynamodb.Client
	// sender is nil with Options.SDKCodec.
	sender   *direct.Sender
	endpoint *endpoint
	opts     Options
	slots    chan struct{} // one element for each request in flight
	// waiting counts the requests that wait for a slot.
	waiting atomic.Int64
	idle    func()
	// writes records whether a write was done or may have been done.
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

// MaxInFlight returns the largest number of requests in flight. More goroutines than that do not
// send faster.
func (c *Client) MaxInFlight() int { return c.opts.MaxInFlight }
