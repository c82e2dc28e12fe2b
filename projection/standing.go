package projection

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The attributes of the item of a projection that say whether it has begun, and whether it is
// paused. Those of its owed sweeps are attrOwed and attrSwept: see [Operator.Continue].
const (
	// attrStarted is when the projection first began, in seconds since 1970. attrMarked is the last
	// persistence id that has a row for a beginning from now, while that is not done.
	attrStarted = "started_at"
	attrMarked  = "marked_to"
	// attrPaused is when the projection was paused. It is missing if it is not.
	attrPaused = "paused_at"
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

// standingKey returns the key of the item of a projection. A row has a second NUL.
func (t *table) standingKey(name string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(t.journalName + "\x00" + name)}
}

// standings reads what is stored for the projections of a group, in their order: 1 read unit each.
func (g *Group) standings(ctx context.Context) ([]standing, error) {
	keys := make([]dynamo.Attributes, len(g.members))
	for i, of := range g.members {
		keys[i] = g.table.standingKey(of.name)
	}
	items, err := g.table.batch(ctx, keys)
	if err != nil {
		return nil, err
	}
	return g.table.decodeStandings(items)
}

func (t *table) decodeStandings(items []dynamo.Attributes) ([]standing, error) {
	all := make([]standing, len(items))
	for i, item := range items {
		d := decoder{table: t.name, item: item}
		_, marking := d.item[attrMarked]
		all[i] = standing{
			started: d.number(attrStarted) > 0, paused: d.number(attrPaused) > 0, marking: marking,
			marked: d.text(attrMarked), owed: d.number(attrOwed), swept: d.number(attrSwept),
			resetting: d.text(attrReset) != "",
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	return all, nil
}
