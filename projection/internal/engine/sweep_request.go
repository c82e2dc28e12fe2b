package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Now returns the time of the service, from its responses. Processes compare times that others have
// stored, and the clock of a process may be wrong by hours. The times of two processes may differ
// by a second, because responses have no fractions of a second.
func (g *Group) Now() time.Time { return g.Table.now() }

func (t *Table) now() time.Time {
	return core.Of(t.Journal).Clock.ServiceOrWall()
}

// SetSweepRequest is the part of an update expression that requests a sweep. It needs the values 0
// as :none, and 1 as :one.
const SetSweepRequest = ", " + AttrSweepsRequested + " = if_not_exists(" + AttrSweepsRequested + ", :none) + :one"

// RequestSweep requests a sweep for a projection on Lambda. It does nothing if the projection does
// not exist, or does not run on Lambda.
func (t *Table) RequestSweep(ctx context.Context, projection string) error {
	err := t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: t.StandingKey(projection),
		Expression: "SET " + SetSweepRequest[2:],
		Condition:  attrFoundBy + " = :lambda",
		Values:     dynamo.Attributes{":lambda": Text(SourceLambda), ":none": Number(0), ":one": Number(1)},
	})
	if errors.Is(err, ErrAgain) {
		return nil
	}
	return err
}

// StoreSwept stores that a sweep has covered all sweeps that were requested when it started.
func (t *Table) StoreSwept(ctx context.Context, key dynamo.Attributes, requested int64) error {
	err := t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: key,
		Expression: "SET " + AttrSwept + " = :swept",
		Condition:  "attribute_not_exists(" + AttrSwept + ") OR " + AttrSwept + " < :swept",
		Values:     dynamo.Attributes{":swept": Number(requested)},
	})
	if errors.Is(err, ErrAgain) {
		return nil // another process has stored as many
	}
	return err
}
