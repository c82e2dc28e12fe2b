package engine

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

// decidedEnd first reads the endSpan highest numbers. While it finds no event, as below numbers
// that recoveries have sealed, it reads endGrowth times as many.
const (
	endSpan   = 1
	endGrowth = 16
)

// decidedEnd returns the offset of the last event of a persistence id below which every number is
// decided, or the end of the deleted events. It returns offset 0 if there are no events.
//
// In a native journal that is the last event, because a writer seals missing numbers before it
// writes after them. In a shared journal a JVM may still write at a missing number of the last
// [dynajournal.LiveWindow] numbers: the end is before the first of these.
func (g *Group) decidedEnd(ctx context.Context, pid string) (Offset, error) {
	bounds, err := g.Journal.Bounds(ctx, pid)
	if err != nil || bounds.Highest == 0 {
		return Offset{}, err
	}
	span := int64(endSpan)
	if !g.Journal.Native() {
		span = dynajournal.LiveWindow
	}
	for ; ; span *= endGrowth {
		from := max(bounds.Highest-span+1, bounds.Lowest, 1)
		end, low, err := g.lastDecided(ctx, pid, from, bounds.Highest)
		switch {
		case err != nil || end.Seq >= low && end.Seq > 0:
			return end, err
		case from <= max(low, 1):
			return Offset{Seq: max(low-1, 0)}, nil
		}
	}
}

// lastDecided returns the offset of the last decided event from a number on, or offset 0, and the
// low mark.
func (g *Group) lastDecided(ctx context.Context, pid string, from, highest int64) (end Offset, low int64, err error) {
	for {
		page, err := core.Of(g.Journal).ReadPage(ctx, pid, from, g.Config.BatchSize)
		if err != nil {
			return end, 0, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			for _, missing := range e.Missing {
				if missing.Last > highest-dynajournal.LiveWindow {
					return end, page.Low, nil
				}
			}
			end = Offset{e.SequenceNumber, e.Writer}
		}
		if !page.More {
			return end, page.Low, nil
		}
		from = end.Seq + 1
	}
}
