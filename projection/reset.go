package projection

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
)

// ResetOptions are the options of [Operator.Reset]. The zero value has the defaults.
type ResetOptions struct {
	// Progress is called with the number of rows that are deleted so far, if it is set.
	Progress func(rows int64)

	// Running resets the projection also while processes run it. Handlers at least once may then
	// overlap, for one persistence id each.
	//
	// Defaults to false: that is [ErrInUse].
	Running bool

	// ScanOptions pace the scan of the projections table.
	ScanOptions
}

// Reset makes the projection begin anew, with the first event of each persistence id: it deletes
// all its rows, and owes a sweep to its group. It returns how many rows it has deleted. What
// handlers have written is not touched: remove it before the group begins.
//
// It scans the projections table, which costs 1 read unit for each 4 KB, and 1 write unit for each
// row. If it is interrupted, call it again: until it is done the projection does not begin
// ([ErrResetting]).
//
// Errors: a *dynajournal.ArgumentError, [ErrNoProjection], [ErrInUse], [ErrUnsupported] of a
// projection of [SQL], and those of requests.
func (o *Operator) Reset(ctx context.Context, opts ResetOptions) (int64, error) {
	p, err := o.find(ctx)
	if err == nil {
		err = opts.check()
	}
	if err == nil {
		err = p.storesRows()
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
	if err := o.beginReset(ctx, opts.Running); err != nil {
		return 0, err
	}
	rows, sets, err := o.deleteRows(ctx, opts)
	if err != nil {
		return rows, err
	}
	err = o.oweSweeps(ctx, sets)
	if err != nil {
		return rows, err
	}
	return rows, o.endReset(ctx, "")
}

// beginReset stores that a reset is under way, and then checks that no process runs the projection.
// A process that begins looks in the other order: see Group.enter. beginReset also checks before:
// a process that is about to begin must not find a reset that is refused.
func (o *operated) beginReset(ctx context.Context, running bool) error {
	if !running {
		if err := o.notInUse(ctx); err != nil {
			return err
		}
	}
	id := uuid.NewString()
	err := o.table.send(ctx, dynamo.Update{
		Table: o.table.name, Key: o.table.standingKey(o.Projection),
		Expression: "SET " + attrReset + " = if_not_exists(" + attrReset + ", :id)",
		Condition:  "attribute_exists(" + attrPar + ")",
		Values:     dynamo.Attributes{":id": text(id)},
	})
	if errors.Is(err, errAgain) {
		return ErrNoProjection
	}
	if err != nil || running {
		return err
	}
	if err := o.notInUse(ctx); err != nil {
		return errors.Join(err, o.endReset(ctx, id)) // one that was interrupted has another id
	}
	return nil
}

// notInUse returns ErrInUse if processes run the projection.
func (o *operated) notInUse(ctx context.Context) error {
	infos, err := o.table.infos(ctx, []string{o.Projection})
	if err == nil && len(infos) > 0 && infos[0].Processes > 0 {
		err = fmt.Errorf("%d processes run it, or have crashed within 3 minutes: %w", infos[0].Processes, ErrInUse)
	}
	return err
}

// endReset stores that a reset is done: the one with an id, or any if id is empty.
func (o *operated) endReset(ctx context.Context, id string) error {
	only := condition{"attribute_exists(" + attrReset + ")", nil}
	if id != "" {
		only = condition{attrReset + " = :id", dynamo.Attributes{":id": text(id)}}
	}
	err := o.table.send(ctx, dynamo.Update{
		Table: o.table.name, Key: o.table.standingKey(o.Projection),
		Expression: "REMOVE " + attrReset, Condition: only.expression, Values: only.values,
	})
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// deleteRows deletes the rows of the projection. It returns how many there were, and the items of
// its group to which a sweep can be owed.
func (o *operated) deleteRows(ctx context.Context, opts ResetOptions) (rows int64, sets []dynamo.Attributes, err error) {
	d := o.deletion(opts.Progress)
	const owed = "begins_with(" + attrPar + ", :group) AND attribute_exists(" + attrOwed + ")"
	in := dynamodb.ScanInput{
		ConsistentRead:            aws.Bool(true),
		ProjectionExpression:      aws.String(attrPar),
		FilterExpression:          aws.String("begins_with(" + attrPar + ", :rows) OR " + owed),
		ExpressionAttributeValues: dynamo.Attributes{":rows": text(d.rows), ":group": text(d.group)},
	}
	for item, err := range o.table.scan(ctx, in, opts.ScanOptions) {
		if err != nil {
			return d.deleted, nil, err
		}
		if !strings.HasPrefix(keyOf(item), d.rows) {
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

// oweSweeps owes a sweep to each set of projections of the group that reads a stream, and makes
// sweeps without a stream begin anew.
func (o *operated) oweSweeps(ctx context.Context, sets []dynamo.Attributes) error {
	if o.Source == sourceLambda {
		if err := o.table.oweTo(ctx, o.Projection); err != nil {
			return err
		}
	}
	for _, key := range sets {
		err := o.table.send(ctx, dynamo.Update{
			Table: o.table.name, Key: key,
			Expression: "SET " + attrOwed + " = " + attrOwed + " + :one",
			Condition:  "attribute_exists(" + attrOwed + ")",
			Values:     dynamo.Attributes{":one": number(1)},
		})
		if err != nil && !errors.Is(err, errAgain) {
			return err
		}
	}
	return core.Of(o.table.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		key := sweepKey(o.table.journalName, o.group)
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{Table: o.table.name, Key: key})
	})
}
