package simulate_test

import (
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// harmless judges a request that is sent: a dry run writes nothing.
func (g *game) harmless(r *explore.Request) {
	if r.Process == g.mender.name && !g.mender.idle() && g.mender.doing == repairDryRun && writes(r) {
		g.fail(fmt.Errorf("a dry run sends %v", r))
	}
}

// unharmed is to be called before the ledgers learn what a request has done; the function that it
// returns judges what has changed. A copy removes nothing that readers can see but what its source
// has deleted of the same history, and a repair changes nothing of it.
func (g *game) unharmed(r *explore.Request) func() {
	if !writes(r) || r.Process != g.copier.name && r.Process != g.mender.name {
		return func() {}
	}
	before := g.visible()
	return func() {
		for e, now := range g.visible() {
			for _, event := range before[e] {
				if !slices.Contains(now, event) && (r.Process == g.mender.name || !g.copies.mayDelete(e, event)) {
					g.fail(fmt.Errorf("%s: the event %v was visible until %v", pid(e), event, r))
				}
			}
			for _, event := range now {
				if r.Process == g.mender.name && !slices.Contains(before[e], event) {
					g.fail(fmt.Errorf("%s: the event %v is visible since %v", pid(e), event, r))
				}
			}
		}
	}
}

// visible are the events that every reader must see, by entity.
func (g *game) visible() [][]explore.Event {
	all := make([][]explore.Event, len(g.ledgers))
	for e, l := range g.ledgers {
		all[e] = l.Visible()
	}
	return all
}
