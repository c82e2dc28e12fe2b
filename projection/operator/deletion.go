package operator

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// deletion deletes items of the projections table, as many at once as a request allows.
type deletion struct {
	table *engine.Table
	// rows is the prefix of the keys of the projection's rows. group is the prefix of the keys of
	// its group's items.
	rows, group string
	progress    func(deleted int64)
	pending     []dynamo.Attributes
	deleted     int64
}

// maxDeleted is the number of items that one request deletes.
const maxDeleted = 25

func (o *operated) deletion(progress func(deleted int64)) *deletion {
	return &deletion{
		table: o.Table, progress: progress,
		rows:  o.Table.JournalName + "\x00" + o.Projection + "\x00",
		group: o.Table.JournalName + "\x00" + o.Group + "\x00",
	}
}

// add deletes an item by its key, now or at the latest with flush.
func (d *deletion) add(ctx context.Context, key dynamo.Attributes) error {
	if d.pending = append(d.pending, key); len(d.pending) < maxDeleted {
		return nil
	}
	return d.flush(ctx)
}

// flush deletes the pending items.
func (d *deletion) flush(ctx context.Context) error {
	if len(d.pending) == 0 {
		return nil
	}
	err := core.Of(d.table.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return client.BatchDelete(ctx, &dynamo.Meter{}, d.table.Name, d.pending, nil)
	})
	if err != nil {
		return err
	}
	d.deleted += int64(len(d.pending))
	d.pending = d.pending[:0]
	if d.progress != nil {
		d.progress(d.deleted)
	}
	return nil
}
