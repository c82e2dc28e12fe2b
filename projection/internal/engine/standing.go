package engine

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The attributes of the item of a projection that say whether it has begun, and whether it is
// paused, and which sweeps it is owed.
const (
	// AttrStarted is when the projection first began, in seconds since 1970. attrMarked is the last
	// persistence id that has a row for a beginning from now, while that is not done.
	AttrStarted = "started_at"
	attrMarked  = "marked_to"
	// AttrPaused is when the projection was paused. It is missing if it is not.
	AttrPaused = "paused_at"
	// AttrOwed is how many sweeps were owed so far, AttrSwept how many of them are settled. The
	// item of all consumers of the same projections has them, too.
	AttrOwed  = "owed"
	AttrSwept = "swept"
)

// standing is what is stored for a projection as a whole.
type standing struct {
	started, paused bool
	// marking reports whether a beginning from now is under way, and marked how far it has come.
	marking bool
	marked  string
	// owed is how many sweeps were owed so far, swept how many of them are settled.
	owed, swept int64
	// resetting reports whether a reset is not done.
	resetting bool
}

// StandingKey returns the key of the item of a projection. A row has a second NUL.
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
			marked: d.Text(attrMarked), owed: d.Number(AttrOwed), swept: d.Number(AttrSwept),
			resetting: d.Text(AttrReset) != "",
		}
		if d.Err != nil {
			return nil, d.Err
		}
	}
	return all, nil
}
