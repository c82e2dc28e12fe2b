package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Pause pauses the projection in all processes, until [Operator.Continue]: also in processes that
// begin later. It stores that and returns. A process finds it within a sixth of
// Config.ClaimTimeout, at most 10 seconds; handlers that are called then return in their time. The
// other projections of the group continue. [projection.Group.Resume] works on a paused projection,
// too.
//
// Nothing is lost, and no stream needs to keep its records meanwhile: Continue makes the group look
// at all persistence ids. It costs 1 write unit.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], and those of requests.
func (o *Operator) Pause(ctx context.Context) error {
	return o.change(ctx, "pause", dynamo.Update{
		Expression: "SET " + engine.AttrPaused + " = if_not_exists(" + engine.AttrPaused + ", :now)",
		Condition:  "attribute_exists(" + engine.AttrStarted + ")",
		Values:     dynamo.Attributes{":now": engine.Number(time.Now().Unix())},
	}, projection.ErrNoProjection)
}

// Continue continues a projection that [Operator.Pause] has paused. With [projection.Streams] the
// group looks at all persistence ids for it, at StreamsOptions.PerSecond; with [projection.Sweep]
// that is what the next sweep does, on AWS Lambda what awslambda.Maintain does. It does nothing if
// the projection is not paused. It costs 1 write unit.
//
// Errors: those of Pause, without ErrNoProjection.
func (o *Operator) Continue(ctx context.Context) error {
	// The sweep is owed in the same write: what was not handled meanwhile is not forgotten.
	owe := "SET " + engine.AttrOwed + " = if_not_exists(" + engine.AttrOwed + ", :none) + :one "
	values := dynamo.Attributes{":none": engine.Number(0), ":one": engine.Number(1)}
	return o.change(ctx, "continue", dynamo.Update{
		Expression: owe + "REMOVE " + engine.AttrPaused,
		Condition:  "attribute_exists(" + engine.AttrPaused + ")",
		Values:     values,
	}, nil)
}

// change changes the item of the projection. failed is the error if the condition does not hold.
func (o *Operator) change(ctx context.Context, what string, update dynamo.Update, failed error) error {
	if o.journal == nil {
		return engine.Argument("journal", nil, "it must be an open journal")
	}
	if _, err := engine.CheckProjection(o.projection); err != nil {
		return err
	}
	t := engine.OpenTable(o.journal)
	update.Table, update.Key = t.Name, t.StandingKey(o.projection)
	err := t.Send(ctx, update)
	if errors.Is(err, engine.ErrAgain) {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("%s projection %s: %w", what, o.projection, err)
	}
	return nil
}
