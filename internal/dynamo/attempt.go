package dynamo

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/clock"
)

// request has the properties that all attempts of a request share.
type request struct {
	operation, table string
	// index is the index that the request reads, or empty.
	index string
	// purpose is filled in from the context when the request starts.
	purpose Purpose
	write   bool
	// before, if set, is called before every attempt. If it returns an error, the attempt is not
	// sent.
	before func() error
	// slot is the slot of the first attempt. With the zero Slot the attempt waits for one.
	slot Slot
}

// call sends a request until an attempt succeeds, another attempt cannot help, or the retries or
// the time are used up. Errors are *RequestError.
func call[T any](
	ctx context.Context, c *Client, m *Meter, r request, send func(context.Context) (T, Cost, error),
) (T, error) {
	a := attempts{client: c, request: r, ctx: ctx}
	a.start(nil)
	for {
		out, err := attempt(&a, m, send)
		if err != nil {
			if err = a.failed(err); err == nil {
				continue
			}
		}
		a.end(err)
		return out, err
	}
}

// attempts is the state of a request. It counts the attempts and pauses between them.
type attempts struct {
	client *Client
	request

	// ctx is the caller's context. The request also ends at the deadline. The first attempt sets
	// the deadline when it starts, so the wait for a slot does not count.
	ctx      context.Context //nolint:containedctx // it lives as long as the request
	deadline time.Time
	// checked is the moment at which the check of the last attempt started.
	checked clock.Moment

	statements int // of the last attempt, if it was a BatchExecuteStatement
	sent       int // attempts sent
	used       int // retries used since the last progress, other than after throttling
	pauses     int // pauses since the last progress
	denials    int // responses that rejected the signature or the token
	// maybeApplied reports whether an attempt may have done the write.
	maybeApplied bool
	observed     observed
	// timeout, if not 0, bounds the next attempt; it is shorter than AttemptTimeout. timedOut
	// reports whether it ended the last attempt.
	timeout  time.Duration
	timedOut bool
	// reason and err describe the last failed attempt.
	reason, err error
}

// ended returns the reason for which the request has ended, or nil if it has not. last is the
// failure of the last attempt, or nil. A request that was throttled until its time was over ends
// with ErrThrottled.
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

// exhausted reports whether the retries after a failure are used up. Throttling does not use up
// retries.
func (a *attempts) exhausted(v verdict) bool {
	retries := a.client.opts.Retries
	return a.used >= retries && (!v.patient || retries == 0) || a.denials >= maxDenials
}

// acquire waits for a slot. It returns the zero Slot if the request ends first.
func (a *attempts) acquire() Slot {
	if a.client.Observes() {
		defer a.waited(time.Now())
	}
	if a.deadline.IsZero() {
		return a.client.acquire(a.ctx)
	}
	ctx, cancel := context.WithDeadline(a.ctx, a.deadline)
	defer cancel()
	return a.client.acquire(ctx)
}

// within returns the context of an attempt that starts now.
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

// errNotSent is the failure of an attempt that was not sent because its context had ended or its
// check had failed.
var errNotSent = errors.New("the request was not sent")

func isNotSent(err error) bool { return errors.Is(err, errNotSent) }

// checkError is the failure of an attempt that was not sent because its check had failed.
type checkError struct{ reason error }

func (e *checkError) Error() string { return e.reason.Error() }

// Unwrap returns the reason and errNotSent.
func (e *checkError) Unwrap() []error { return []error{e.reason, errNotSent} }

// attempt makes one attempt. With a nil meter, send itself charges the cost.
func attempt[T any](a *attempts, m *Meter, send func(context.Context) (T, Cost, error)) (T, error) {
	var none T
	slot := a.slot
	a.slot = Slot{}
	if !slot.IsAcquired() {
		slot = a.acquire()
	}
	if !slot.IsAcquired() {
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
	start := time.Now()
	sent := &sending{checked: a.checked}
	ctx, cancel := a.within(context.WithValue(a.ctx, sendingKey{}, sent), start)
	out, cost, err := send(ctx)
	a.timedOut = err != nil && a.timeout > 0 && ctx.Err() != nil && a.ended(nil) == nil
	cancel()
	if a.write {
		a.client.recordWrite(m, err)
	}
	cost.Requests = 1
	if m != nil {
		m.add(cost)
	}
	charge(a.ctx, cost)
	a.observe(time.Since(start), cost, sent.requestID, err)
	return out, err
}

// maxDenials bounds the attempts whose signature, token or access key is rejected. The second
// attempt can succeed: with the service's time, with new credentials, or once the key is known
// everywhere.
const maxDenials = 2

// failed decides whether a failed attempt is repeated. It pauses and returns nil if so, otherwise
// it returns the error that ends the request.
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

// notSent returns the error of a request whose last attempt was not sent: the check's error, or the
// failure of the attempt before.
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

// throttledPause is the longest pause of a throttled request that has paused as often as Retries
// allows. It replaces BackoffCap, and is far shorter than the pauses before. A request that has
// waited long must retry often, because new requests start with the shortest pauses and would take
// every unit that becomes free: with pauses of up to a second, one of 64 writers wrote a fortieth
// of the mean. A shorter pause would send bursts to a service that throttles.
const throttledPause = 64 * time.Millisecond

// cutOff is the last part of a throttled request's time, in which it does not start another
// attempt. It is at most a tenth of OperationTimeout. An attempt that starts so late would probably
// be cut off, and leave the outcome unknown.
const cutOff = 500 * time.Millisecond

// pause waits before the next attempt after a failed one. It returns false if the request has ended
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
	_ = backoff.Wait(a.ctx, min(pause, left)) // ended returns why the wait was shorter
	return a.ended(nil) == nil
}

// fail returns the error that ends the request.
func (a *attempts) fail(reason, err error) error {
	return &RequestError{
		Operation: a.operation, Table: a.table, Attempts: a.sent, MaybeApplied: a.maybeApplied,
		Reason: reason, Err: err,
	}
}
