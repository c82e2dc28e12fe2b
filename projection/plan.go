package projection

import (
	"github.com/dynajournal/dynajournal/internal/core"
)

// step is what a handler is called with: an event, a gap, or a purge.
type step struct {
	// to is the offset when the step is done.
	to offset
	// event is nil for a gap, a purge, and events that are left out.
	event *core.StoredEvent
	// first and last are the numbers of a gap.
	first, last int64
	// purge reports whether the step is a purge.
	purge bool
	// leftOut reports whether the step is of events that the projection leaves out.
	leftOut bool
}

// plan returns what follows from what was read of a journal from the offset of a row on.
//
// The event at the offset is read as well. If it is there, of the row's writer, or the low mark is
// above the offset, the row and the journal are of the same life of the persistence id. Otherwise
// it was purged, and everything that was read belongs to another life: the only step is a purge,
// and reading begins again at 1. A mark that vanishes resets nothing, as the event is there.
func plan(at offset, page core.Page) []step {
	anchored := at.seq == 0
	from := at
	var steps []step
	gap := func(low int64) {
		anchored = anchored || low > from.seq
		if low-1 <= at.seq {
			return
		}
		steps = append(steps, step{to: offset{seq: low - 1}, first: at.seq + 1, last: low - 1})
		at = offset{seq: low - 1}
	}
	for i := range page.Events {
		e := &page.Events[i]
		gap(e.Low)
		if e.SequenceNumber == from.seq && e.Writer == from.writer {
			anchored = true
		}
		if e.SequenceNumber <= at.seq {
			continue
		}
		at = offset{e.SequenceNumber, e.Writer}
		steps = append(steps, step{to: at, event: e})
	}
	gap(page.Low)
	if !anchored {
		return []step{{purge: true}}
	}
	return steps
}
