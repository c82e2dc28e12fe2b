package stream

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// consumers is the item that all consumers of the same projections share.
type consumers struct {
	stream               string
	at, requested, swept int64
}

func (c *Consumer) setKey() dynamo.Attributes {
	return dynamo.Attributes{engine.AttrPar: engine.Text(c.set)}
}

func (c *Consumer) consumers(ctx context.Context) (consumers, error) {
	item, err := c.Group.Table.Get(ctx, c.setKey())
	if err != nil {
		return consumers{}, err
	}
	d := engine.Decoder{Table: c.Group.Table.Name, Item: item}
	return consumers{d.Text(attrStream), d.Number(attrAt), d.Number(engine.AttrSweepsRequested), d.Number(engine.AttrSwept)}, d.Err
}

// present stores that a consumer reads the stream. It requests a sweep if no consumer has for a
// long time, or if the stream is new: shards may have come and gone meanwhile.
func (c *Consumer) present(ctx context.Context) error {
	now, err := c.consumers(ctx)
	if err != nil {
		return err
	}
	c.Group.SweepPending.Store(now.requested > now.swept)
	switch {
	case now.stream != c.Arn || c.away(now.at):
		return c.requestSweep(ctx)
	case c.Group.Now().Sub(time.Unix(now.at, 0)) < time.Minute:
		return nil
	}
	return c.mark(ctx, "")
}

// away reports whether at is so long ago that records may have been trimmed since.
func (c *Consumer) away(at int64) bool {
	return c.Group.Now().Sub(time.Unix(at, 0)) > engine.TrustedFor
}

// requestSweep stores that one more sweep is requested. It is called before the checkpoint of a
// shard moves over trimmed records. Requesting a sweep twice only costs a sweep.
func (c *Consumer) requestSweep(ctx context.Context) error {
	return c.mark(ctx, engine.SetSweepRequest)
}

// mark stores the stream, the time, and the projections of the set. also is added to the update
// expression.
func (c *Consumer) mark(ctx context.Context, also string) error {
	values := dynamo.Attributes{
		":stream": engine.Text(c.Arn), ":at": engine.Number(c.Group.Now().Unix()), ":for": engine.Text(engine.Subjects(c.Group.Members)),
	}
	if also != "" {
		values[":none"], values[":one"] = engine.Number(0), engine.Number(1)
	}
	return c.Group.Table.Send(ctx, dynamo.Update{
		Table: c.Group.Table.Name, Key: c.setKey(),
		Expression: "SET " + attrStream + " = :stream, " + attrAt + " = :at, " + engine.AttrFor + " = :for" + also,
		Condition:  engine.Always, Values: values,
	})
}

// sweepRequested sweeps when a requested sweep is left, until ctx ends.
func (r *reader) sweepRequested(ctx context.Context) {
	for {
		now, err := r.consumers(ctx)
		if err == nil && now.requested > now.swept {
			sweep := &engine.Sweep{Pace: r.Pace}
			err = sweep.Once(ctx, r.Group, r.Group.Members, r.to, &engine.Position{})
			if err == nil {
				err = r.Group.Table.StoreSwept(ctx, r.setKey(), now.requested)
			}
		}
		if err == nil {
			err = r.sweepContinued(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.log(ctx, "a requested sweep was interrupted", "stream.sweep_interrupted", r.lease.shard, err)
		}
		if backoff.Wait(ctx, r.LeaseTimeout/engine.Renewals) != nil {
			return
		}
	}
}

// sweepContinued sweeps for the projections that were continued, one after the other. It then
// stores that the sweeps that were requested when it started were made.
func (r *reader) sweepContinued(ctx context.Context) error {
	for _, of := range r.Group.Members {
		if of.SweepsPending.Load() == 0 || of.Paused.Load() {
			continue
		}
		requested := of.SweepsRequested.Load()
		sweep := &engine.Sweep{Pace: r.Pace}
		if err := sweep.Once(ctx, r.Group, []*engine.Member{of}, r.to, &engine.Position{}); err != nil {
			return err
		}
		err := r.Group.Table.StoreSwept(ctx, r.Group.Table.StandingKey(of.Name), requested)
		if err != nil {
			return err
		}
		of.SweepsPending.Store(0)
	}
	return nil
}
