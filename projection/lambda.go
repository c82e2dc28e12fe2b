package projection

import (
	"context"
	"encoding/json"
	"fmt"
)

// LambdaOptions are the options of a group on AWS Lambda. The zero value has the defaults.
type LambdaOptions struct {
	// PerSecond is SweepOptions.PerSecond, for the sweeps of [Group.Maintain] and for [FromNow].
	//
	// Negative is no limit. Defaults to 100.
	PerSecond float64
}

// Lambda returns the source of a group that runs on AWS Lambda. There an event source mapping reads
// the stream of the journal table, and calls [Group.HandleDynamoDBEvent]. [Group.Run] does not
// work.
func Lambda(opts LambdaOptions) Source { return &lambda{opts} }

type lambda struct{ LambdaOptions }

func (l *lambda) check() error {
	sweep := &sweep{SweepOptions{PerSecond: l.PerSecond}}
	err := sweep.check()
	l.PerSecond = sweep.PerSecond
	return err
}

func (l *lambda) perSecond() float64 { return l.PerSecond }

func (l *lambda) kind() string { return sourceLambda }

func (l *lambda) feed(context.Context, *Group, *schedule) error {
	return fmt.Errorf("a group on Lambda: %w", ErrUnsupported) // Run does not come here
}

// DynamoDBEventResponse is the response of an invocation to the event source mapping. The mapping
// must have the function response type ReportBatchItemFailures.
type DynamoDBEventResponse struct {
	// BatchItemFailures has the lowest record that is not done: all from it on are sent again. It
	// is empty if all records are done.
	BatchItemFailures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure names a record.
type BatchItemFailure struct {
	// ItemIdentifier is its sequence number in the stream.
	ItemIdentifier string `json:"itemIdentifier"`
}

// HandleDynamoDBEvent handles an event that AWS Lambda sends for the stream of the journal table.
// It can be the function itself:
//
//	lambda.Start(group.HandleDynamoDBEvent) // of package github.com/aws/aws-lambda-go/lambda
//
// It returns when all records are done, or shortly before the deadline of ctx, and then names the
// lowest record that is not done. The context of handlers ends before the deadline by a fifth of
// the time that there was, at most 2 seconds; the response comes at half of this time, whether
// handlers have returned or not. Without a deadline it waits until all records are done.
//
// A record is done when its persistence id was read after the record was received, everything found
// was handled, and the offset is stored. A persistence id whose handler fails is tried again until
// the deadline, and by the next invocations. After Config.Attempts failures it is stuck: that is
// stored before its records are done.
//
// The source of the group must be [Lambda]. The group must be made once in a process, not in each
// invocation. The first invocation stores that the projections run here, and that they owe a sweep:
// see [Group.Maintain].
//
// An error makes Lambda send all records again: an *[EventError], those of [Group.Run], and those
// of requests before records were handled. It is safe for concurrent use.
func (g *Group) HandleDynamoDBEvent(ctx context.Context, event json.RawMessage) (DynamoDBEventResponse, error) {
	b, err := g.parse(event)
	if err == nil && len(b.ids) > 0 {
		err = g.handle(ctx, b)
	}
	if err != nil {
		return DynamoDBEventResponse{}, fmt.Errorf("projections %q: %w", g.config.Name, err)
	}
	return b.response(), nil
}

// handle handles the records of a batch.
func (g *Group) handle(ctx context.Context, b *batch) error {
	in := g.invoke(ctx)
	defer in.cancel()
	members, err := g.join(in.ctx, b.oldest)
	if err != nil {
		return err
	}
	in.late = !b.oldest.IsZero() && g.now().Sub(b.oldest) > lateAfter
	return in.run(func(s *schedule, add func() (done func())) {
		for _, id := range b.ids {
			done := add()
			s.triggerFor(members, id.pid, trigger{records: id.records, done: func() {
				b.finish(id)
				done()
			}})
		}
	})
}
