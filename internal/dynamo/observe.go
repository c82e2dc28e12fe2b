package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"
)

// Start describes a request before it is sent, for [Options].Start.
type Start struct {
	// Operation and Table are DynamoDB's names. Index is empty if the request does not read an
	// index.
	Operation, Table, Index string
	// Statements is the number of statements of a BatchExecuteStatement, 0 for other operations.
	Statements int
	Purpose    Purpose
	// Writers has the contexts of the writers that share the request. It is nil if there is only
	// one writer: the context of the request then has its values.
	Writers []context.Context
	// Gathered is the longest time that an item of the request waited for the request to be sent,
	// together with items of other writers.
	Gathered time.Duration
}

// Attempt describes one attempt of a request, for [Options].Observe.
type Attempt struct {
	Operation, Table, Index string
	// Statements is the number of statements of a BatchExecuteStatement, 0 for other operations.
	Statements int
	Purpose    Purpose
	// Number is 1 for the first attempt.
	Number int
	// Waited is the time that the attempt waited for a slot. Duration does not include it.
	Waited, Duration time.Duration
	Cost             Cost
	// Err is nil if the attempt succeeded. Otherwise it wraps the reason and the complete failure.
	Err error
	// Code is the service's error code, or empty.
	Code string
	// RequestID is the service's id of the request, or empty if there was no response.
	RequestID string
}

// End describes a request after its last attempt, for [Options].End.
type End struct {
	Start

	// Attempts is the number of attempts that were sent.
	Attempts int
	// Waited is the total time that the attempts waited for slots. Duration is the time since
	// Start, including the pauses between attempts.
	Waited, Duration time.Duration
	Cost             Cost
	// Err is nil if the last attempt succeeded.
	Err error
}

// failure is the error of a failed attempt. reason is the Reason that a [RequestError] would have
// after it. err is the complete failure.
type failure struct{ reason, err error }

func (e *failure) Error() string { return fmt.Sprintf("%v: %s", e.reason, brief(e.err)) }

func (e *failure) Unwrap() []error { return []error{e.reason, e.err} }

// WithReason returns an error of the AWS SDK with its reason, or nil. It is for requests that a
// [Client] does not send, such as those to DynamoDB Streams.
func WithReason(err error) error {
	if err == nil {
		return nil
	}
	return &failure{judge(err).reason, err}
}

// observed has the times and costs of a request for its observers. It is not used without
// observers.
type observed struct {
	start time.Time
	// last is the time that the last attempt waited for a slot. waited, sent and cost are the sums
	// over all attempts. gathered is Start.Gathered.
	last, waited time.Duration
	gathered     time.Duration
	sent         int
	cost         Cost
}

// Observes reports whether any observer is set.
func (c *Client) Observes() bool {
	return c.opts.Start != nil || c.opts.Observe != nil || c.opts.End != nil
}

// start passes the request to Options.Start, and continues with the context that it returns.
func (a *attempts) start(writers []context.Context) {
	if !a.client.Observes() {
		return
	}
	a.observed.start = time.Now()
	if a.purpose == "" {
		a.purpose = purposeOf(a.ctx)
	}
	if a.client.opts.Start != nil {
		a.ctx = a.client.opts.Start(a.ctx, a.described(writers))
	}
}

// described returns the description of the request.
func (a *attempts) described(writers []context.Context) Start {
	return Start{a.operation, a.table, a.index, a.statements, a.purpose, writers, a.observed.gathered}
}

// waited records the time that an attempt has waited for a slot.
func (a *attempts) waited(since time.Time) {
	a.observed.last = time.Since(since)
	a.observed.waited += a.observed.last
}

// observe passes the attempt to Options.Observe. id is the service's id of the request.
func (a *attempts) observe(took time.Duration, cost Cost, id string, err error) {
	if !a.client.Observes() {
		return
	}
	a.observed.cost = a.observed.cost.Add(cost)
	a.observed.sent++
	if a.client.opts.Observe == nil {
		return
	}
	seen := Attempt{
		Operation: a.operation, Table: a.table, Index: a.index, Statements: a.statements, Purpose: a.purpose,
		Number: a.sent, Waited: a.observed.last, Duration: took, Cost: cost, Err: a.explained(err), RequestID: id,
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		seen.Code = withoutNamespace(api.ErrorCode())
	}
	a.client.opts.Observe(a.ctx, seen)
}

// explained returns the failure of an attempt with its reason, or nil if the attempt succeeded.
func (a *attempts) explained(err error) error {
	if err == nil {
		return nil
	}
	reason := judge(err).reason
	if ended := a.ended(err); ended != nil {
		reason = ended
	}
	return &failure{reason, err}
}

// end passes the request to Options.End.
func (a *attempts) end(err error) {
	if a.client.opts.End == nil {
		return
	}
	a.client.opts.End(a.ctx, End{
		a.described(nil), a.observed.sent, a.observed.waited, time.Since(a.observed.start), a.observed.cost, err,
	})
}
