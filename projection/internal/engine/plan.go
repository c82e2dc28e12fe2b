package engine

import (
	"github.com/dynajournal/dynajournal/internal/core"
)

// Step is an event, a gap, or a purge, with which a handler is called. A step of events that are
// left out calls no handler.
type Step struct {
	// To is the offset after the step.
	To Offset
	// Event is nil for a gap, a purge, and events that are left out.
	Event *core.StoredEvent
	// First and Last are the first and the last number of a gap.
	First, Last int64
	// Purge reports whether the step is a purge. It covers the events up to To.
	Purge bool
	// LeftOut reports whether the step is only for events that the projection leaves out.
	LeftOut bool
}

// Resets reports whether the step does not move the offset of a row forward. The journal is then
// read again.
func (s *Step) Resets(at Offset) bool { return s.Purge && s.To.Seq <= at.Seq }

// Plan returns the steps after the offset of a row. page has the events from that offset on.
//
// If the offset is below the last purged number, the first step is a purge, and the events after it
// follow. If the row does not exist, no handler was called with the purged events, and the purge is
// not reported.
//
// page also has the event at the offset. If that event exists and is of the row's writer, or if the
// low mark is above the offset, the row belongs to the events in the journal. Otherwise all events
// were erased, or an older journal was restored: the only step is a purge that moves the row back
// to the last purged number, and reading starts again there.
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
