package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// ResetOptions are the options of [Operator.Reset]. The zero value has the defaults.
type ResetOptions struct {
	// Progress, if set, is called with the number of rows that are deleted so far.
	Progress func(rows int64)

	// Running resets the projection even while processes run it. At-least-once handlers may then
	// overlap, for one persistence id each.
	//
	// Defaults to false: Reset returns [projection.ErrInUse] while processes run the projection.
	Running bool

	// ScanOptions pace the scan of the projections table.
	ScanOptions
}

// Reset makes the projection start again with the first event of each persistence id. It deletes
// all rows of the projection, stores that its group requests a sweep, and returns the number of
// deleted rows. Reset does not undo what handlers have written: remove that before the group
// starts.
//
// It scans the projections table, which costs 1 read unit for each 4 KB, and 1 write unit for each
// row. If Reset is interrupted, call it again: until it is done, the projection does not start
// ([projection.ErrResetting]).
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [projection.ErrInUse],
// [projection.ErrUnsupported] for a projection of package sqlprojection, and errors of requests.
func (o *Operator) Reset(ctx context.Context, opts ResetOptions) (int64, error) {
	p, err := o.find(ctx)
	if err == nil {
		err = opts.check()
	}
	if err == nil {
		err = p.StoresRows()
	}
	var rows int64
	if err == nil {
		rows, err = p.reset(ctx, opts)
	}
	if err != nil {
		return rows, fmt.Errorf("reset projection %s: %w", o.projection, err)
	}
	return rows, nil
}

func (o *operated) reset(ctx context.Context, opts ResetOptions) (int64, error) {
	if err := o.startReset(ctx, opts.Running); err != nil {
		return 0, err
	}
	rows, sets, err := o.deleteRows(ctx, opts)
	if err != nil {
		return rows, err
	}
	err = o.requestSweeps(ctx, sets)
	if err != nil {
		return rows, err
	}
	return rows, o.finishReset(ctx, "")
}

// startReset stores that a reset is under way, and then checks that no process runs the projection.
// A process that starts does the same in the opposite order: see engine.Group.enter. startReset
// also checks before storing, so that a process that is about to start does not find a reset that
// is refused.
func (o *operated) startReset(ctx context.Context, running bool) error {
	if !running {
		if err := o.notInUse(ctx); err != nil {
			return err
		}
	}
	id := uuid.NewString()
	err := o.Table.Send(ctx, dynamo.Update{
		Table: o.Table.Name, Key: o.Table.StandingKey(o.Projection),
		Expression: "SET " + engine.AttrReset + " = if_not_exists(" + engine.AttrReset + ", :id)",
		Condition:  "attribute_exists(" + engine.AttrPar + ")",
		Values:     dynamo.Attributes{":id": engine.Text(id)},
	})
	if errors.Is(err, engine.ErrAgain) {
		return projection.ErrNoProjection
	}
	if err != nil || running {
		return err
	}
	if err := o.notInUse(ctx); err != nil {
		return errors.Join(err, o.finishReset(ctx, id)) // an interrupted reset has another id
	}
	return nil
}

// notInUse returns ErrInUse if processes run the projection.
func (o *operated) notInUse(ctx context.Context) error {
	infos, err := o.Table.Infos(ctx, []string{o.Projection})
	if err == nil && len(infos) > 0 && infos[0].Processes > 0 {
		err = fmt.Errorf("%d processes run it, or crashed within the last 3 minutes: %w", infos[0].Processes, projection.ErrInUse)
	}
	return err
}

// finishReset stores that a reset is done: the reset with an id, or any if id is empty.
func (o *operated) finishReset(ctx context.Context, id string) error {
	only := engine.Condition{Expression: "attribute_exists(" + engine.AttrReset + ")", Values: nil}
	if id != "" {
		only = engine.Condition{Expression: engine.AttrReset + " = :id", Values: dynamo.Attributes{":id": engine.Text(id)}}
	}
	err := o.Table.Send(ctx, dynamo.Update{
		Table: o.Table.Name, Key: o.Table.StandingKey(o.Projection),
		Expression: "REMOVE " + engine.AttrReset, Condition: only.Expression, Values: only.Values,
	})
	if errors.Is(err, engine.ErrAgain) {
		return nil
	}
	return err
}

// deleteRows deletes the rows of the projection. It returns how many it has deleted, and the items
// of its group to which a sweep can be requested.
func (o *operated) deleteRows(ctx context.Context, opts ResetOptions) (rows int64, sets []dynamo.Attributes, err error) {
	d := o.deletion(opts.Progress)
	const pending = "begins_with(" + engine.AttrPar + ", :group) AND attribute_exists(" + engine.AttrSweepsRequested + ")"
	in := dynamodb.ScanInput{
		ConsistentRead:            aws.Bool(true),
		ProjectionExpression:      aws.String(engine.AttrPar),
		FilterExpression:          aws.String("begins_with(" + engine.AttrPar + ", :rows) OR " + pending),
		ExpressionAttributeValues: dynamo.Attributes{":rows": engine.Text(d.rows), ":group": engine.Text(d.group)},
	}
	for item, err := range o.Table.Scan(ctx, in, opts.ReadUnitsPerSecond) {
		if err != nil {
			return d.deleted, nil, err
		}
		if !strings.HasPrefix(engine.KeyOf(item), d.rows) {
			sets = append(sets, item)
			continue
		}
		if err := d.add(ctx, item); err != nil {
			return d.deleted, nil, err
		}
	}
	err = d.flush(ctx)
	return d.deleted, sets, err
}

// requestSweeps stores that each set of projections of the group that reads a stream requests a
// sweep, and makes sweeps without a stream start again with the first persistence id.
func (o *operated) requestSweeps(ctx context.Context, sets []dynamo.Attributes) error {
	if o.Source == engine.SourceLambda {
		if err := o.Table.RequestSweep(ctx, o.Projection); err != nil {
			return err
		}
	}
	for _, key := range sets {
		err := o.Table.Send(ctx, dynamo.Update{
			Table: o.Table.Name, Key: key,
			Expression: "SET " + engine.AttrSweepsRequested + " = " + engine.AttrSweepsRequested + " + :one",
			Condition:  "attribute_exists(" + engine.AttrSweepsRequested + ")",
			Values:     dynamo.Attributes{":one": engine.Number(1)},
		})
		if err != nil && !errors.Is(err, engine.ErrAgain) {
			return err
		}
	}
	return core.Of(o.Table.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		key := engine.SweepKey(o.Table.JournalName, o.Group)
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{Table: o.Table.Name, Key: key})
	})
}
