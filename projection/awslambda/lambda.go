// Package awslambda runs the projections of a group on AWS Lambda. An event source mapping reads
// the stream of the journal table, and a Lambda function of the program handles its records:
//
//	group, err := projection.New(journal, projection.Config{
//		Name: "billing", Source: awslambda.Source(awslambda.Options{}),
//	}, projection.AtLeastOnce("balances", balances))
//	if err != nil {
//		return err
//	}
//	lambda.Start(awslambda.Handler(group)) // lambda is github.com/aws/aws-lambda-go/lambda
//
// A second function with a schedule calls [Maintain].
package awslambda

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Options are the options of a group on AWS Lambda. The zero value has the defaults.
type Options struct {
	// PerSecond is [projection.SweepOptions].PerSecond for the sweeps of [Maintain] and for
	// [projection.FromNow].
	//
	// Negative means no limit. Defaults to 100.
	PerSecond float64
}

// Source returns the source of a group that runs on AWS Lambda. [Handler] handles its events.
// [projection.Group.Run] does not work on such a group.
func Source(opts Options) projection.Source {
	return engine.NewSource[projection.Source](&lambda{opts.PerSecond})
}

// lambda is the source of a group on Lambda. pace is Options.PerSecond.
type lambda struct{ pace float64 }

func (l *lambda) Check() error {
	sweep := &engine.Sweep{Pace: l.pace}
	err := sweep.Check()
	l.pace = sweep.Pace
	return err
}

func (l *lambda) PerSecond() float64 { return l.pace }

func (l *lambda) Kind() string { return engine.SourceLambda }

func (l *lambda) Feed(context.Context, *engine.Group, *engine.Schedule) error {
	return fmt.Errorf("a group on Lambda: %w", projection.ErrUnsupported) // Run does not come here
}

// Response is the response of an invocation to the event source mapping. The mapping
// must have the function response type ReportBatchItemFailures.
type Response struct {
	// BatchItemFailures has the lowest record that is not done: the mapping sends it and all later
	// records again. It is empty if all records are done.
	BatchItemFailures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure names a record that is not done.
type BatchItemFailure struct {
	// ItemIdentifier is the sequence number of the record in the stream.
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handler returns a function that handles an event which AWS Lambda sends for the stream of the
// journal table. Pass the function to lambda.Start.
//
// The function returns when all records are done, or shortly before the deadline of ctx. The
// response then names the lowest record that is not done. The context of handlers ends before the
// deadline, by a fifth of the time that the invocation has, at most 2 seconds. The response comes
// in the middle of this time, whether handlers have returned or not. Without a deadline the
// function waits until all records are done.
//
// A record is done when its persistence id was read after the record was received, everything found
// was handled, and the offset is stored. If the handler fails for more than 5 seconds, or something
// that it needs is down, the function stores a debt of the persistence id. With a short time-out it
// does so after a third of the time. Then the record is done, and [Maintain] makes the run. So call
// Maintain every few minutes. After Config.Attempts and Config.StuckAfter the persistence id
// becomes stuck.
//
// The source of the group must be [Source]. Make the group once in a process, not in each
// invocation. The first invocation stores that the projections run on Lambda, and that they request
// a sweep: see [Maintain].
//
// An error makes Lambda send all records again: an *[EventError], errors of [projection.Group.Run],
// and errors of requests before records were handled. The function is safe for concurrent use.
func Handler(g *projection.Group) func(context.Context, json.RawMessage) (Response, error) {
	of := engine.GroupOf(g)
	return func(ctx context.Context, event json.RawMessage) (Response, error) {
		b, err := parse(of, event)
		if err == nil && len(b.ids) > 0 {
			err = handle(ctx, of, b)
		}
		if err != nil {
			return Response{}, of.Config.PublicError(fmt.Errorf("projections %q: %w", of.Config.Name, err))
		}
		return b.response(), nil
	}
}

// handle handles the records of a batch.
func handle(ctx context.Context, g *engine.Group, b *batch) error {
	in := g.Invoke(ctx)
	defer in.Cancel()
	members, err := g.Join(in.Ctx, b.oldest)
	if err != nil {
		return err
	}
	in.Late = !b.oldest.IsZero() && g.Now().Sub(b.oldest) > engine.LateAfter
	return in.Run(func(s *engine.Schedule, add func() (done func())) {
		for _, id := range b.ids {
			done := add()
			s.TriggerFor(members, id.pid, engine.Trigger{Records: id.records, Done: func() {
				b.finish(id)
				done()
			}})
		}
	})
}

// Maintain does the work that invocations by the stream skip, and returns when it is done. It makes
// the debts that are due, carries out the requests of operator.Operator.Retry and
// operator.Operator.Skip, and sweeps all persistence ids for the projections that request a sweep.
// A projection requests a sweep when it starts on Lambda, after operator.Operator.Continue and
// operator.Operator.Reset, when records came so late that others may have been lost, and when a
// process without the projection has handled events, as during a deployment. operator.List shows
// it.
//
// Call it every few minutes, in a function with a schedule or in any other program, and before
// relying on a projection for the first time. The source of the group must be [Source]. A sweep
// reads Options.PerSecond persistence ids a second, at 4 read units each. Maintain costs 3.5 read
// units for a group of one projection if there is nothing to do.
//
// If ctx ends before Maintain is done, it returns the error of ctx, and the next call continues
// from there. A function with a schedule should not return this error. Handlers get as much time as
// in an invocation. Other errors are errors of [projection.Group.Run], and errors of requests.
func Maintain(ctx context.Context, g *projection.Group) error {
	of := engine.GroupOf(g)
	if err := of.Maintain(ctx); err != nil {
		return of.Config.PublicError(fmt.Errorf("projections %q: %w", of.Config.Name, err))
	}
	return nil
}
