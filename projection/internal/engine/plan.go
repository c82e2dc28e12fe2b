package engine

import (
	"github.com/dynajournal/dynajournal/internal/core"
)

// Step is what a handler is called with: an event, a gap, or a purge.
type Step struct {
	// To is the offset when the step is done.
	To Offset
	// Event is nil for a gap, a purge, and events that are left out.
	Event *core.StoredEvent
	// First and Last are the numbers of a gap.
	First, Last int64
	// Purge reports whether the step is a purge. It covers the events up to the offset after it.
	Purge bool
	// LeftOut reports whether the step is of events that the projection leaves out.
	LeftOut bool
}

// Resets reports whether the step puts back a row at an offset. Then the journal is read again.
func (s *Step) Resets(at Offset) bool { return s.Purge && s.To.Seq <= at.Seq }

// Plan returns the steps from the offset of a row on. page has the events from that offset on.
//
// A row below the last purged number has the first step purge, and the events after it follow. If
// the row does not exist, no handler was called with what was purged, and nothing is told of it.
//
// The event at the offset is read as well. If it is there, of the row's writer, or the low mark is
// above the offset, the journal has what the row was made from. Otherwise everything was erased, or
// an older journal was restored: the only step is a purge that puts the row back, and reading
// starts again there.
func Plan(at Offset, exists bool, page core.Page) []Step {
	anchored := at.Seq == 0
	from := at
	var steps []Step
	if at.Seq < page.Purged {
		if at = (Offset{Seq: page.Purged}); exists {
			steps = append(steps, Step{To: at, Purge: true})
		}
	}
	gap := func(low int64) {
		anchored = anchored || low > from.Seq
		if low-1 <= at.Seq {
			return
		}
		steps = append(steps, Step{To: Offset{Seq: low - 1}, First: at.Seq + 1, Last: low - 1})
		at = Offset{Seq: low - 1}
	}
	for i := range page.Events {
		e := &page.Events[i]
		gap(e.Low)
		if e.SequenceNumber == from.Seq && e.Writer == from.Writer {
			anchored = true
		}
		if e.SequenceNumber <= at.Seq {
			continue
		}
		at = Offset{e.SequenceNumber, e.Writer}
		steps = append(steps, Step{To: at, Event: e})
	}
	gap(page.Low)
	if !anchored {
		return []Step{{To: Offset{Seq: page.Purged}, Purge: true}}
	}
	return steps
}
