package projection

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// consumers is the item of all consumers of the same projections.
type consumers struct {
	stream          string
	at, owed, swept int64
}

func (c *consumer) setKey() dynamo.Attributes { return dynamo.Attributes{attrPar: text(c.set)} }

func (c *consumer) consumers(ctx context.Context) (consumers, error) {
	item, err := c.group.table.get(ctx, c.setKey())
	if err != nil {
		return consumers{}, err
	}
	d := decoder{table: c.group.table.name, item: item}
	return consumers{d.text(attrStream), d.number(attrAt), d.number(attrOwed), d.number(attrSwept)}, d.err
}

// present stores that a consumer is here. If none was for long, or the stream is a new one, a sweep
// is owed: shards may have come and gone meanwhile.
func (c *consumer) present(ctx context.Context) error {
	now, err := c.consumers(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.stream != c.arn || c.away(now.at):
		return c.owe(ctx)
	case c.group.now().Sub(time.Unix(now.at, 0)) < time.Minute:
		return nil
	}
	return c.mark(ctx, "")
}

// away reports whether so much time has passed that records may be trimmed.
func (c *consumer) away(at int64) bool {
	return c.group.now().Sub(time.Unix(at, 0)) > trustedFor
}

// now returns the time of the service, as its responses show it, because processes compare what
// others have stored, and the clock of one of them may be wrong by hours. It may be a second behind
// that of another process: responses have no fractions.
func (g *Group) now() time.Time { return g.table.now() }

func (t *table) now() time.Time {
	clock := core.Of(t.journal).Clock
	if service, known := clock.Service(); known {
		return service
	}
	return clock.Wall()
}

// owe stores that one more sweep is owed. It is stored before the checkpoint of a shard moves over
// what was trimmed. To owe one twice costs a sweep.
func (c *consumer) owe(ctx context.Context) error {
	return c.mark(ctx, owing)
}

// owing is the part of an update that owes a sweep. Its values are 0 as :none, and 1 as :one.
const owing = ", " + attrOwed + " = if_not_exists(" + attrOwed + ", :none) + :one"

// oweTo owes a sweep to a projection on Lambda. It does nothing if the projection is not there.
func (t *table) oweTo(ctx context.Context, projection string) error {
	err := t.send(ctx, dynamo.Update{
		Table: t.name, Key: t.standingKey(projection),
		Expression: "SET " + owing[2:],
		Condition:  attrFoundBy + " = :lambda",
		Values:     dynamo.Attributes{":lambda": text(sourceLambda), ":none": number(0), ":one": number(1)},
	})
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// mark stores the stream and the time, the projections of the set, and what is set beside.
func (c *consumer) mark(ctx context.Context, also string) error {
	values := dynamo.Attributes{
		":stream": text(c.arn), ":at": number(c.group.now().Unix()), ":for": text(subjects(c.group.members)),
	}
	if also != "" {
		values[":none"], values[":one"] = number(0), number(1)
	}
	return c.group.table.send(ctx, dynamo.Update{
		Table: c.group.table.name, Key: c.setKey(),
		Expression: "SET " + attrStream + " = :stream, " + attrAt + " = :at, " + attrFor + " = :for" + also,
		Condition:  always, Values: values,
	})
}

// settle stores that the sweeps are settled that were owed when one began.
func (t *table) settle(ctx context.Context, key dynamo.Attributes, owed int64) error {
	err := t.send(ctx, dynamo.Update{
		Table: t.name, Key: key,
		Expression: "SET " + attrSwept + " = :swept",
		Condition:  "attribute_not_exists(" + attrSwept + ") OR " + attrSwept + " < :swept",
		Values:     dynamo.Attributes{":swept": number(owed)},
	})
	if errors.Is(err, errAgain) {
		return nil // another sweep has settled as many
	}
	return err
}

// sweepOwed sweeps when a sweep is owed, until ctx ends.
func (r *reader) sweepOwed(ctx context.Context) {
	for {
		now, err := r.consumers(ctx)
		if err == nil && now.owed > now.swept {
			sweep := &sweep{SweepOptions{PerSecond: r.PerSecond}}
			err = sweep.once(ctx, r.group, r.group.members, r.to, &position{})
			if err == nil {
				err = r.group.table.settle(ctx, r.setKey(), now.owed)
			}
		}
		if err == nil {
			err = r.settleContinued(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.log(ctx, "a sweep that is owed was interrupted", r.lease.shard, err)
		}
		if backoff.Wait(ctx, r.LeaseTimeout/renewals) != nil {
			return
		}
	}
}
