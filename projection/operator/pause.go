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

// Pause pauses the projection in all processes, including processes that start later, until
// [Operator.Continue]. It stores the pause and returns. Each process reads it within a sixth of
// Config.ClaimTimeout, at most 10 seconds. Running handlers return normally. The other projections
// of the group continue. [projection.Group.Resume] still works on a paused projection.
//
// No event is missed, even if the stream drops its records meanwhile: Continue makes the group
// sweep all persistence ids. Events that were deleted during the pause are reported as a gap. A
// purge during the pause is reported only when the persistence id is used again, or after
// [projection.Group.Trigger]. Pause costs 1 write unit.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], and errors of requests.
func (o *Operator) Pause(ctx context.Context) error {
	return o.change(ctx, "pause", dynamo.Update{
		Expression: "SET " + engine.AttrPaused + " = if_not_exists(" + engine.AttrPaused + ", :now)",
		Condition:  "attribute_exists(" + engine.AttrStarted + ")",
		Values:     dynamo.Attributes{":now": engine.Number(time.Now().Unix())},
	}, projection.ErrNoProjection)
}

// Continue continues a projection that [Operator.Pause] has paused, and makes the group sweep all
// persistence ids for it: with [projection.Streams] at StreamsOptions.PerSecond, with
// [projection.Sweep] by the next sweep, on AWS Lambda by awslambda.Maintain. It does nothing if the
// projection is not paused. It costs 1 write unit.
//
// Errors: as for Pause, without ErrNoProjection.
func (o *Operator) Continue(ctx context.Context) error {
	// The same write stores that a sweep is requested, so that events of the time of the pause are
	// not missed.
	request := "SET " + engine.AttrSweepsRequested + " = if_not_exists(" + engine.AttrSweepsRequested + ", :none) + :one "
	values := dynamo.Attributes{":none": engine.Number(0), ":one": engine.Number(1)}
	return o.change(ctx, "continue", dynamo.Update{
		Expression: request + "REMOVE " + engine.AttrPaused,
		Condition:  "attribute_exists(" + engine.AttrPaused + ")",
		Values:     values,
	}, nil)
}

// change updates the item of the projection. failed is the error if the condition does not hold.
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
