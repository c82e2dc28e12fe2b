package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// RemoveOptions are the options of [Operator.Remove]. The zero value has the defaults.
type RemoveOptions struct {
	// Progress, if set, is called with the number of items that are deleted so far.
	Progress func(items int64)

	// ScanOptions pace the scan of the projections table.
	ScanOptions
}

// Remove removes a projection that no process runs any more. It deletes the projection's rows,
// including rows of stuck persistence ids, the dead letters of an outbox, the requests of
// operators, and the leases of each set of projections that it was in. Last it deletes the
// projection from the registry. It returns the number of deleted items. What handlers have written
// stays. A projection of package sqlprojection has its offsets in its database, where
// sqlprojection.RemoveOffsets deletes them.
//
// It scans the projections table, which costs 1 read unit for each 4 KB. In addition it costs 1
// write unit for each item, 3 more, and 5 read units. If Remove is interrupted, call it again:
// until it is done, the projection does not start ([projection.ErrResetting]). Afterwards a
// projection with the same name starts like one that has never run.
//
// A process that is suspended for 3 minutes does not count as running. If it continues after
// Remove, it is in the registry again a minute later, with what it has written: call Remove again.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [projection.ErrInUse], and
// errors of requests.
func (o *Operator) Remove(ctx context.Context, opts RemoveOptions) (int64, error) {
	p, err := o.find(ctx)
	if err == nil {
		err = opts.check()
	}
	var items int64
	if err == nil {
		items, err = p.remove(ctx, opts)
	}
	if err != nil {
		return items, fmt.Errorf("remove projection %s: %w", o.projection, err)
	}
	return items, nil
}

// remove removes the projection while it is marked as being reset, which keeps processes from
// starting.
func (o *operated) remove(ctx context.Context, opts RemoveOptions) (int64, error) {
	if err := o.startReset(ctx, false); err != nil {
		return 0, err
	}
	items, err := o.deleteAll(ctx, opts)
	if err == nil {
		err = o.forgetRequests(ctx)
	}
	if err == nil {
		err = o.unregister(ctx)
	}
	return items, err
}

// deleteAll deletes the rows of the projection, its dead letters, the positions of its sweeps, and
// the sets that it was in. The item of a set names its projections, and is deleted after the leases
// of the set.
func (o *operated) deleteAll(ctx context.Context, opts RemoveOptions) (int64, error) {
	d, letters := o.deletion(opts.Progress), o.Table.LetterPrefix(o.Projection)
	in := dynamodb.ScanInput{
		ConsistentRead:       aws.Bool(true),
		ProjectionExpression: aws.String(engine.AttrPar + ", " + engine.AttrFor),
		FilterExpression: aws.String("begins_with(" + engine.AttrPar + ", :rows) OR " +
			"begins_with(" + engine.AttrPar + ", :group) OR begins_with(" + engine.AttrPar + ", :letters)"),
		ExpressionAttributeValues: dynamo.Attributes{
			":rows": engine.Text(d.rows), ":group": engine.Text(d.group), ":letters": engine.Text(letters),
		},
	}
	sets := &setItems{leases: map[string][]dynamo.Attributes{}}
	_, name, _ := strings.Cut(o.Projection, "/")
	position := engine.KeyOf(o.Table.SweepKey(o.Group, name))
	for item, err := range o.Table.Scan(ctx, in, opts.ReadUnitsPerSecond) {
		if err != nil {
			return d.deleted, err
		}
		par := engine.KeyOf(item)
		key := dynamo.Attributes{engine.AttrPar: engine.Text(par)}
		mine := strings.HasPrefix(par, d.rows) || strings.HasPrefix(par, letters) || par == position
		if !mine {
			of := engine.Decoder{Table: o.Table.Name, Item: item}
			mine = par == d.group && o.among(of.Text(engine.AttrFor))
			sets.add(strings.TrimPrefix(par, d.group), key, o.among(of.Text(engine.AttrFor)))
		}
		if !mine {
			continue
		}
		if err := d.add(ctx, key); err != nil {
			return d.deleted, err
		}
	}
	for _, key := range sets.removed() {
		if err := d.add(ctx, key); err != nil {
			return d.deleted, err
		}
	}
	if err := d.flush(ctx); err != nil {
		return d.deleted, err
	}
	for _, key := range sets.mine { // a set whose leases are left is found again by its item
		if err := d.add(ctx, key); err != nil {
			return d.deleted, err
		}
	}
	err := d.flush(ctx)
	return d.deleted, err
}

// among reports whether the names that engine.Subjects returns include the projection.
func (o *operated) among(subjects string) bool {
	return slices.ContainsFunc(strings.Split(subjects, "\x00"), func(of string) bool {
		rest, found := strings.CutPrefix(of, o.Projection)
		return found && (rest == "" || rest[0] == '/')
	})
}

// setItems collects the items of sets that read a stream, in the order of a scan, which is
// arbitrary.
type setItems struct {
	// mine are the items of the sets that the projection was in, by their names.
	mine map[string]dynamo.Attributes
	// leases are the leases of all sets of the group.
	leases map[string][]dynamo.Attributes
}

// add records the item of a set, or one of its leases. name is its key without the prefix of the
// group.
func (s *setItems) add(name string, key dynamo.Attributes, mine bool) {
	set, _, lease := strings.Cut(name, "\x00")
	switch {
	case lease:
		s.leases[set] = append(s.leases[set], key)
	case mine && set != "":
		if s.mine == nil {
			s.mine = map[string]dynamo.Attributes{}
		}
		s.mine[set] = key
	}
}

// removed returns the leases of the sets that the projection was in.
func (s *setItems) removed() (keys []dynamo.Attributes) {
	for set := range s.mine {
		keys = append(keys, s.leases[set]...)
	}
	return keys
}

// forgetRequests deletes the requests of operators for the projection.
func (o *operated) forgetRequests(ctx context.Context) error {
	item, err := o.Table.Get(ctx, o.Table.RequestsKey(o.Group))
	if err != nil {
		return err
	}
	d := engine.Decoder{Table: o.Table.Name, Item: item}
	requests := slices.DeleteFunc(d.Texts(engine.AttrSendAgain), func(request string) bool {
		parts := strings.SplitN(request, "\x00", 3)
		return len(parts) < 3 || parts[1] != o.Projection
	})
	if d.Err != nil || len(requests) == 0 {
		return d.Err
	}
	return o.Table.Send(ctx, dynamo.Update{
		Table: o.Table.Name, Key: o.Table.RequestsKey(o.Group),
		Expression: "DELETE " + engine.AttrSendAgain + " :requests", Condition: engine.Always,
		Values: dynamo.Attributes{":requests": &types.AttributeValueMemberSS{Value: requests}},
	})
}

// unregister deletes the name from the registry, and then the item of the projection, on condition
// that no process has started meanwhile. Such a process has stored that it runs before it finds the
// mark of the reset: see engine.Group.enter.
func (o *operated) unregister(ctx context.Context) error {
	for range engine.MostAgain {
		item, err := o.Table.Get(ctx, o.Table.StandingKey(o.Projection))
		if err != nil || item == nil {
			return err
		}
		infos, err := o.Table.Infos(ctx, []string{o.Projection})
		if err != nil {
			return err
		}
		if len(infos) > 0 && infos[0].Processes > 0 {
			return fmt.Errorf("a process has started meanwhile; remove the projection again: %w", projection.ErrInUse)
		}
		if err := o.Table.Unknown(ctx, o.Projection); err != nil {
			return err
		}
		err = o.Table.RemoveStanding(ctx, o.Projection, item)
		if !errors.Is(err, engine.ErrAgain) {
			return err
		}
	}
	return fmt.Errorf("processes start again and again: %w", projection.ErrInUse)
}
