package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/clock"
)

// Attempt is one sending of a request, as [Options].Observe gets it.
type Attempt struct {
	Operation, Table string
	// Statements is the number of statements of a BatchExecuteStatement, 0 for other operations.
	Statements int
	// Number is 1 for the first attempt.
	Number   int
	Duration time.Duration
	Cost     Cost
	// Err is nil if the attempt succeeded. Otherwise it wraps the reason and the failure in full.
	Err error
	// Code is the service's error code, empty if there is none.
	Code string
}

// failure is why an attempt failed: the reason that the request would have, and the failure in
// full.
type failure struct{ reason, err error }

func (e *failure) Error() string { return fmt.Sprintf("%v: %s", e.reason, brief(e.err)) }

func (e *failure) Unwrap() []error { return []error{e.reason, e.err} }

// request is what all attempts of a request have in common.
type request struct {
	operation, table string
	write            bool
	// before is called before every attempt, if set. After an error the attempt is not sent.
	before func() error
	// slot is for the first attempt. If it is the zero Slot, the attempt waits for one.
	slot Slot
}

// call sends a request until an attempt succeeds, no further one can help, or the retries or the
// time are used up. Errors are *RequestError.
func call[T any](
	ctx context.Context, c *Client, m *Meter, r request, send func(context.Context) (T, Cost, error),
) (T, error) {
	a := attempts{client: c, request: r, ctx: ctx}
	for {
		out, err := attempt(&a, m, send)
		if err == nil {
			return out, nil
		}
		if err = a.failed(err); err != nil {
			return out, err
		}
	}
}

// attempts is the state of a request: it counts its attempts, and pauses between them.
type attempts struct {
	client *Client
	request

	// ctx is the caller's. The request also ends at the deadline, which is set when the first
	// attempt begins: the service has nothing to do with the wait for a slot.
	ctx      context.Context //nolint:containedctx // it lives as long as the request
	deadline time.Time
	// checked is when the check of the last attempt began.
	checked clock.Moment

	statements int // of the last attempt, where it was a BatchExecuteStatement
	sent       int // attempts sent
	used       int // retries used since the last progress, other than after throttling
	pauses     int // pauses since the last progress
	denials    int // responses that rejected the signature or the token
	// maybeApplied is true if an attempt may have done the write.
	maybeApplied bool
	// timeout bounds the next attempt where it is not 0; it is shorter than AttemptTimeout then.
	// timedOut is true if it ended the last attempt.
	timeout  time.Duration
	timedOut bool
	// reason and err are those of the last attempt that failed.
	reason, err error
}

// ended returns why the request has ended, nil if it has not. last is why the last attempt failed,
// nil if there was none: a request that was throttled until its time was over is throttled.
func (a *attempts) ended(last error) error {
	switch {
	case a.ctx.Err() != nil:
		return contextReason(a.ctx)
	case a.deadline.IsZero() || time.Now().Before(a.deadline):
		return nil
	case last != nil && judge(last).patient:
		return ErrThrottled
	}
	return context.DeadlineExceeded
}

// exhausted reports whether the retries after a failure are used up. Throttling uses up none.
func (a *attempts) exhausted(v verdict) bool {
	retries := a.client.opts.Retries
	return a.used >= retries && (!v.patient || retries == 0) || a.denials >= maxDenials
}

// acquire waits for a slot. It returns the zero Slot if the request ends first.
func (a *attempts) acquire() Slot {
	if a.deadline.IsZero() {
		return a.client.acquire(a.ctx)
	}
	ctx, cancel := context.WithDeadline(a.ctx, a.deadline)
	defer cancel()
	return a.client.acquire(ctx)
}

// within returns the context of an attempt that begins now.
func (a *attempts) within(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	if a.deadline.IsZero() {
		a.deadline = now.Add(a.client.opts.OperationTimeout)
	}
	end := now.Add(cmp.Or(a.timeout, a.client.opts.AttemptTimeout))
	if a.deadline.Before(end) {
		end = a.deadline
	}
	return context.WithDeadline(ctx, end)
}

// errNotSent is the failure of an attempt that was not sent, as its context had ended or its check
// had failed.
var errNotSent = errors.New("the request was not sent")

func isNotSent(err error) bool { return errors.Is(err, errNotSent) }

// checkError is the failure of an attempt that was not sent, as its check had failed.
type checkError struct{ reason error }

func (e *checkError) Error() string { return e.reason.Error() }

// Unwrap returns the reason, and that the attempt was not sent.
func (e *checkError) Unwrap() []error { return []error{e.reason, errNotSent} }

// attempt makes one attempt. With a nil meter, send itself charges the cost.
func attempt[T any](a *attempts, m *Meter, send func(context.Context) (T, Cost, error)) (T, error) {
	var none T
	slot := a.slot
	a.slot = Slot{}
	if !slot.Held() {
		slot = a.acquire()
	}
	if !slot.Held() {
		return none, errNotSent
	}
	defer slot.Release()
	if a.ended(nil) != nil {
		return none, errNotSent
	}
	// The time is read before the check, so that transport notices if the machine sleeps after it.
	a.checked = a.client.opts.Clock.Now()
	if a.before != nil {
		if err := a.before(); err != nil {
			return none, &checkError{err}
		}
	}
	a.sent++
	began := time.Now()
	ctx, cancel := a.within(withChecked(a.ctx, a.checked), began)
	out, cost, err := send(ctx)
	a.timedOut = err != nil && a.timeout > 0 && ctx.Err() != nil && a.ended(nil) == nil
	cancel()
	if a.write {
		a.client.note(m, err)
	}
	cost.Requests = 1
	if m != nil {
		m.add(cost)
	}
	charge(a.ctx, cost)
	if a.client.opts.Observe != nil {
		a.observe(time.Since(began), cost, err)
	}
	return out, err
}

// observe passes the attempt to Options.Observe.
func (a *attempts) observe(took time.Duration, cost Cost, err error) {
	seen := Attempt{
		Operation: a.operation, Table: a.table, Statements: a.statements, Number: a.sent, Duration: took, Cost: cost,
	}
	if err != nil {
		reason := judge(err).reason
		if ended := a.ended(err); ended != nil {
			reason = ended
		}
		seen.Err = &failure{reason, err}
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			seen.Code = withoutNamespace(api.ErrorCode())
		}
	}
	a.client.opts.Observe(a.ctx, seen)
}

// maxDenials bounds the attempts whose signature, token or access key is rejected. The second one
// can be right, with the service's clock or new credentials, or when the key is known everywhere.
const maxDenials = 2

// failed decides what follows a failed attempt. It returns nil after the pause before the next one,
// or else the error that ends the request.
func (a *attempts) failed(err error) error {
	if isNotSent(err) {
		return a.notSent(err)
	}
	v := judge(err)
	a.reason, a.err = v.reason, err
	a.maybeApplied = a.maybeApplied || a.write && v.ambiguous
	if v.renew {
		invalidate(a.client.opts.AWS.Credentials)
	}
	if errors.Is(v.reason, ErrDenied) {
		a.denials++
	}
	ended := a.ended(err)
	switch {
	case ended != nil:
		return a.fail(ended, err)
	case !v.retry || a.exhausted(v):
		return a.fail(v.reason, err)
	}
	if !v.patient {
		a.used++
	}
	if !a.pause(v) {
		return a.fail(a.ended(err), err)
	}
	return nil
}

// notSent returns the error of a request whose last attempt was not sent: that of its check, or
// that of the attempt before.
func (a *attempts) notSent(err error) error {
	if check, ok := errors.AsType[*checkError](err); ok {
		return a.fail(check.reason, cmp.Or(a.err, check.reason))
	}
	ended := a.ended(a.err)
	switch {
	case ended != nil:
		return a.fail(ended, cmp.Or(a.err, err))
	case a.err != nil:
		return a.fail(a.reason, a.err)
	}
	return a.fail(errNotSent, err)
}

// throttledPause is the longest pause after throttling once there were as many pauses as there are
// retries, whatever BackoffCap says. It is far shorter than the pauses before. A request that has
// waited for long has to ask often, because new requests begin with the shortest pauses and would
// take every unit that becomes free: with pauses of up to a second, one of 64 writers wrote a
// fortieth of the mean. It is not shorter still, so that requests are no burst to a service that
// throttles.
const throttledPause = 64 * time.Millisecond

// cutOff is the end of a throttled request's time in which it begins no attempt, but at most a
// tenth of that time. Its last attempt would probably be cut off, and leave the outcome unknown.
const cutOff = 500 * time.Millisecond

// pause waits before the attempt after a failed one. It reports false if the request has ended
// meanwhile.
func (a *attempts) pause(failed verdict) bool {
	opts := &a.client.opts
	longest := backoff.Pauses{Shortest: opts.BackoffBase, Longest: opts.BackoffCap}.After(a.pauses)
	if a.pauses >= opts.Retries {
		longest = throttledPause
	}
	a.pauses++
	pause := backoff.Random(longest)
	if failed.late {
		pause = opts.BackoffCap
	}
	left := max(1, time.Until(a.deadline))
	if failed.patient && left-pause < min(cutOff, opts.OperationTimeout/10) {
		pause = left
	}
	_ = backoff.Wait(a.ctx, min(pause, left)) // ended says why it was shorter
	return a.ended(nil) == nil
}

// fail returns the error that ends the request.
func (a *attempts) fail(reason, err error) error {
	return &RequestError{
		Operation: a.operation, Table: a.table, Attempts: a.sent, MaybeApplied: a.maybeApplied,
		Reason: reason, Err: err,
	}
}
