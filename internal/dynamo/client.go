// Package dynamo is the one place that talks to DynamoDB's SDK, and the one that decides on retries: a bounded pool of
// requests, tries with full jitter, batches that never drop a left-over, and the exact cost of everything.
package dynamo

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Options configure a Client. All fields are required, unless they say otherwise.
type Options struct {
	AWS aws.Config
	// UserAgent is added to what the SDK says of itself; empty for nothing.
	UserAgent string
	// HTTP configures connections, where AWS has no HTTP client or one of the SDK's own type.
	HTTP HTTPOptions
	// MaxInFlight bounds the requests under way at once.
	MaxInFlight int
	// Retries is how many further tries a request gets; 0 is none.
	Retries int
	// BackoffBase is the longest first pause, doubled for each further one up to BackoffCap; each pause is drawn evenly
	// from zero to its longest (full jitter), so that writers that were throttled together don't come back together.
	BackoffBase, BackoffCap time.Duration
	// AttemptTimeout bounds one try, OperationTimeout a request with all its tries, from the first on.
	AttemptTimeout, OperationTimeout time.Duration
	// MaxBatchGet and MaxBatchWrite bound the keys and the items of one batch request.
	MaxBatchGet, MaxBatchWrite int
	// SDKCodec leaves the sending and encoding of all requests and the decoding of all answers to the SDK.
	SDKCodec bool
	// Clock is the clock that learns the service's time from its answers. Without one it is the
	// machine's.
	Clock *clock.Clock
	// Observe is called after each try, if set, from the goroutine that made it.
	Observe func(ctx context.Context, try Try)
}

// Try is one request as it was sent: what the observer sees.
type Try struct {
	Operation, Table string
	// Statements is how many statements a BatchExecuteStatement had, 0 for any other operation.
	Statements int
	// Number is 1 for the first try.
	Number   int
	Duration time.Duration
	Cost     Cost
	// Err is nil if it succeeded.
	Err error
}

// HTTPOptions configure the HTTP client. Zero values leave what the client of AWS sets, else the
// SDK's defaults.
type HTTPOptions struct {
	// Transport changes the transport before its first use.
	Transport func(*http.Transport)
	// ConnectTimeout bounds the making of a connection, KeepAlive is the pause between TCP probes (negative: none).
	ConnectTimeout, KeepAlive time.Duration
	// LocalAddress is the address to connect from, as net.Dialer takes it; empty is any.
	LocalAddress string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	api *dynamodb.Client
	// direct is nil where the SDK sends everything.
	direct   *direct
	endpoint *endpoint
	opts     Options
	slots    chan struct{}
	idle     func()
}

// New makes a client. It sends nothing.
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
	sending := transport{inner, c.endpoint, opts.Clock}
	c.direct = newDirect(&opts, sending)
	c.api = dynamodb.NewFromConfig(opts.AWS, func(o *dynamodb.Options) {
		o.HTTPClient = sending
		o.DisableValidateResponseChecksum = true // checked by transport
		o.Retryer = aws.NopRetryer{}             // retries are decided here
		if opts.UserAgent != "" {
			o.APIOptions = append(o.APIOptions, middleware.AddUserAgentKey(opts.UserAgent))
		}
		if !opts.SDKCodec {
			o.Protocol = protocol{o.Protocol}
		}
		o.EndpointDiscovery.EnableEndpointDiscovery = aws.EndpointDiscoveryDisabled
	})
	return c, nil
}

// Close frees idle connections that the client itself opened. Requests under way are their callers' to end.
func (c *Client) Close() { c.idle() }

// Clock is the clock that learns the service's time from its answers.
func (c *Client) Clock() *clock.Clock { return c.opts.Clock }

// MaxInFlight is how many requests can be under way at once: more goroutines than that gain nothing.
func (c *Client) MaxInFlight() int { return c.opts.MaxInFlight }

// Reserve takes a place among the requests under way for one that the caller sends at once, and says whether one was free: it
// never is while other requests wait for theirs.
func (c *Client) Reserve() bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release gives back a place that Reserve has taken, where no request is sent.
func (c *Client) Release() { <-c.slots }

// call sends one request until it succeeds, no further try can help, its tries are used up, or its time is. Errors are
// *RequestError.
func call[T any](ctx context.Context, c *Client, m *Meter, r request, send func(context.Context) (T, Cost, error)) (T, error) {
	t := tries{client: c, request: r}
	t.within(ctx)
	defer func() { t.end() }()
	for {
		out, err := attempt(&t, m, send)
		if err == nil {
			return out, nil
		}
		if err = t.failed(err); err != nil {
			return out, err
		}
	}
}

// request names a request for errors and observers.
type request struct {
	operation, table string
	write            bool
	// before is called before every attempt, if set: an error means that it must not be sent.
	before func() error
	// reserved says that the first try has its place already.
	reserved bool
}

// tries is the budget of one request: it counts what was sent, and pauses between.
type tries struct {
	client *Client
	request

	// ctx bounds the request: the caller's, and with the first try, which sets until, the time of the operation besides.
	ctx   context.Context //nolint:containedctx // a request's own
	end   context.CancelFunc
	until time.Time

	statements int // in the last try, of PartiQL
	sent       int // tries sent in all
	used       int // retries used since the last progress
	// refused counts the answers that said that the signature or the token is bad.
	refused int
	maybe   bool
	// patience bounds the next attempt where it is shorter than AttemptTimeout; hung reports that
	// the last one was ended by it.
	patience time.Duration
	hung     bool
	// reason and err are those of the last try that failed.
	reason, err error
}

// within makes the request end with ctx, and at the end of its time if that runs already.
func (t *tries) within(ctx context.Context) {
	t.ctx, t.end = ctx, func() {}
	if !t.until.IsZero() {
		t.ctx, t.end = context.WithDeadline(ctx, t.until)
	}
}

// start begins the request's time with its first try. However long a request waits for its place in the pool before, the
// service has had nothing to do with it.
func (t *tries) start() {
	if t.until.IsZero() {
		t.until = time.Now().Add(t.client.opts.OperationTimeout)
		t.within(t.ctx)
	}
}

// attempt sends one try. A nil meter says that send itself says who is charged.
func attempt[T any](t *tries, m *Meter, send func(context.Context) (T, Cost, error)) (T, error) {
	var none T
	if !t.reserved {
		select {
		case t.client.slots <- struct{}{}:
		case <-t.ctx.Done():
			return none, errNotSent
		}
	}
	t.reserved = false
	defer func() { <-t.client.slots }()
	if t.ctx.Err() != nil {
		return none, errNotSent
	}
	// The moment is taken before the check, so that a machine that sleeps after the check is
	// noticed by transport.send.
	moment := t.client.opts.Clock.Now()
	if t.before != nil {
		if err := t.before(); err != nil {
			return none, &refusedError{err}
		}
	}
	t.start()
	t.sent++
	began, patience := time.Now(), t.client.opts.AttemptTimeout
	if t.patience > 0 {
		patience = t.patience
	}
	tryCtx, cancel := context.WithTimeout(context.WithValue(t.ctx, begunKey{}, moment), patience)
	out, cost, err := send(tryCtx)
	t.hung = err != nil && t.patience > 0 && tryCtx.Err() != nil && t.ctx.Err() == nil
	cancel()
	cost.Requests = 1
	if m != nil {
		m.add(cost)
	}
	if t.client.opts.Observe != nil {
		t.client.opts.Observe(t.ctx, Try{t.operation, t.table, t.statements, t.sent, time.Since(began), cost, err})
	}
	return out, err
}

// maxRefusals bounds the tries after an answer that says that the signature or the token is bad: a second one can be right,
// with the server's clock or new credentials, a third is not.
const maxRefusals = 2

// failed judges a failed try. It returns nil after the pause before the next try, or the error that ends the request.
func (t *tries) failed(err error) error {
	if isNotSent(err) {
		return t.notSent(err)
	}
	v := judge(err)
	t.reason, t.err = v.reason, err
	t.maybe = safeguard.MaybeStays && t.maybe || t.write && v.ambiguous
	if v.renew {
		invalidate(t.client.opts.AWS.Credentials)
	}
	if errors.Is(v.reason, ErrDenied) {
		t.refused++
	}
	switch {
	case t.ctx.Err() != nil:
		return t.ended(contextReason(t.ctx), err)
	case !v.retry, t.used >= t.client.opts.Retries, t.refused >= maxRefusals:
		return t.ended(v.reason, err)
	}
	if !t.pause() {
		return t.ended(contextReason(t.ctx), err)
	}
	return nil
}

// notSent ends a request that was not to be sent any more: with what its check says, or with the
// failure of its last attempt, if there was one.
func (t *tries) notSent(err error) error {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return t.ended(refused.reason, cmp.Or(t.err, refused.reason))
	}
	switch {
	case t.ctx.Err() != nil:
		return t.ended(contextReason(t.ctx), err)
	case t.err != nil:
		return t.ended(t.reason, t.err)
	}
	return t.ended(errNotSent, err)
}

// maxDoublings keeps the doubling of a pause inside a Duration.
const maxDoublings = 20

// pause waits before the next try, and says whether there may be one.
func (t *tries) pause() bool {
	longest := t.client.opts.BackoffBase << min(t.used, maxDoublings)
	if longest <= 0 || longest > t.client.opts.BackoffCap {
		longest = t.client.opts.BackoffCap
	}
	t.used++
	timer := time.NewTimer(rand.N(longest + 1)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

func (t *tries) ended(reason, err error) error {
	return &RequestError{Operation: t.operation, Table: t.table, Tries: t.sent, MaybeApplied: t.maybe, Reason: reason, Err: err}
}
