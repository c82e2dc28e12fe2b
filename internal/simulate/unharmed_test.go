package simulate_test

import (
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// harmless checks a request that is sent: a dry run must not write.
func (g *simulation) harmless(r *explore.Request) {
	if r.Process == g.mender.name && !g.mender.idle() && g.mender.doing == repairDryRun && r.Changes() {
		g.fail(fmt.Errorf("a dry run sends %v", r))
	}
}

// unharmed is called before the ledgers learn what a request has done. The returned function checks
// the change: a copy may remove only visible events that a source of the same history has deleted,
// and a repair may remove no visible event.
func (g *simulation) unharmed(r *explore.Request) func() {
	if !r.Changes() || r.Process != g.copier.name && r.Process != g.mender.name {
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

// visible returns the events that every reader must see, by entity.
func (g *simulation) visible() [][]explore.Event {
	all := make([][]explore.Event, len(g.ledgers))
	for e, l := range g.ledgers {
		all[e] = l.Visible()
	}
	return all
}
