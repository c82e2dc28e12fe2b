package engine

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Attributes of the item of a projection.
const (
	// AttrStarted is when the projection first started, in seconds since 1970.
	AttrStarted = "started_at"
	// attrMarked is the last persistence id for which FromNow has written a row. It is missing
	// after the projection has started.
	attrMarked = "marked_to"
	// AttrPaused is when the projection was paused, in seconds since 1970. It is missing if the
	// projection is not paused.
	AttrPaused = "paused_at"
	// AttrSweepsRequested counts all sweeps that were ever requested. AttrSwept counts the sweeps
	// that were made. The item that the consumers of a stream share also has both.
	AttrSweepsRequested = "owed"
	AttrSwept           = "swept"
)

// standing is the stored state of a projection as a whole.
type standing struct {
	started, paused bool
	// marking reports whether FromNow is writing rows.
	marking bool
	// marked is the last persistence id for which FromNow has written a row.
	marked string
	// requested counts all sweeps that were ever requested. swept counts the sweeps that were made.
	requested, swept int64
	// resetting reports whether a reset is unfinished.
	resetting bool
}

// StandingKey returns the key of the item of a projection. It has one NUL, the key of a row two.
func (t *Table) StandingKey(name string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00" + name)}
}

// standingItems reads the items of projections, in the order of their names: 1 read unit each.
func (t *Table) standingItems(ctx context.Context, names []string) ([]dynamo.Attributes, error) {
	keys := make([]dynamo.Attributes, len(names))
	for i, name := range names {
		keys[i] = t.StandingKey(name)
	}
	return t.Batch(ctx, keys)
}

// standings reads and decodes the items of the projections of a group, in their order.
func (g *Group) standings(ctx context.Context) ([]standing, error) {
	items, err := g.Table.standingItems(ctx, names(g.Members))
	if err != nil {
		return nil, err
	}
	return g.Table.decodeStandings(items)
}

func (t *Table) decodeStandings(items []dynamo.Attributes) ([]standing, error) {
	all := make([]standing, len(items))
	for i, item := range items {
		d := Decoder{Table: t.Name, Item: item}
		_, marking := d.Item[attrMarked]
		all[i] = standing{
			started: d.Number(AttrStarted) > 0, paused: d.Number(AttrPaused) > 0, marking: marking,
			marked: d.Text(attrMarked), requested: d.Number(AttrSweepsRequested), swept: d.Number(AttrSwept),
			resetting: d.Text(AttrReset) != "",
		}
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return all, nil
}
