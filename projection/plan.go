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
	// purge reports whether the step is a purge. It covers the events up to the offset after it.
	purge bool
	// leftOut reports whether the step is of events that the projection leaves out.
	leftOut bool
}

// resets reports whether the step puts back a row at an offset. Then the journal is read again.
func (s *step) resets(at offset) bool { return s.purge && s.to.seq <= at.seq }

// plan returns the steps from the offset of a row on. page has the events from that offset on.
//
// A row below the last purged number has the first step purge, and the events after it follow. If
// the row does not exist, no handler was called with what was purged, and nothing is told of it.
//
// The event at the offset is read as well. If it is there, of the row's writer, or the low mark is
// above the offset, the journal has what the row was made from. Otherwise everything was erased, or
// an older journal was restored: the only step is a purge that puts the row back, and reading
// starts again there.
func plan(at offset, exists bool, page core.Page) []step {
	anchored := at.seq == 0
	from := at
	var steps []step
	if at.seq < page.Purged {
		if at = (offset{seq: page.Purged}); exists {
			steps = append(steps, step{to: at, purge: true})
		}
	}
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
		return []step{{to: offset{seq: page.Purged}, purge: true}}
	}
	return steps
}
