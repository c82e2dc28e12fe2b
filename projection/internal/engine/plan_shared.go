package engine

import (
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

// planned is the result of planning one page: steps to run, and holes to wait for.
type planned struct {
	steps []Step
	// passed has the holes between the steps. open has the holes after the steps, which the
	// projection waits for: one for each visible event after missing numbers.
	passed, open []hole
}

// planShared is Plan for a journal that is shared with a JVM. Everything below the low mark, which
// was read last, is a gap: an event that was read there is a late put, or was not yet removed by
// the JVM. A number that is missing before an event, and is not below the low mark, ends the steps
// until the projection has waited for it, or until it is so far below the highest number that no
// JVM is still writing there.
//
// The page does not have the members of an incomplete atomic write. Its missing members count as
// missing before the next event, if there is one.
func planShared(at Offset, page core.Page, age func(*hole) time.Duration, wait time.Duration) planned {
	low := page.Low
	anchored := at.Seq == 0 || low > at.Seq
	if !anchored && !hasEventAt(page.Events, at) {
		return planned{steps: []Step{{Purge: true}}}
	}
	var p planned
	if low-1 > at.Seq {
		p.steps = append(p.steps, Step{To: Offset{Seq: low - 1}, First: at.Seq + 1, Last: low - 1})
		at = Offset{Seq: low - 1}
	}
	for i := range page.Events {
		e := &page.Events[i]
		if e.SequenceNumber <= at.Seq {
			continue
		}
		spans := missingFrom(e, at.Seq+1)
		if len(spans) > 0 {
			h := hole{Span: core.Span{First: spans[0].First, Last: spans[len(spans)-1].Last}, writer: e.Writer}
			h.age = age(&h)
			far := page.Highest-h.Last >= dynajournal.LiveWindow
			if !far && h.age < wait || len(p.open) > 0 {
				p.open = append(p.open, h) // the projection waits for all of them at the same time
				continue
			}
			for _, span := range spans {
				p.passed = append(p.passed, hole{Span: span, writer: e.Writer, age: h.age})
			}
		}
		if len(p.open) > 0 {
			continue
		}
		at = Offset{e.SequenceNumber, e.Writer}
		p.steps = append(p.steps, Step{To: at, Event: e})
	}
	p.open = p.open[:min(len(p.open), mostHoles)]
	return p
}

// mostHoles is the maximum number of holes of a persistence id for which a projection waits at the
// same time.
const mostHoles = 50

// hasEventAt reports whether events include the event of an offset, of the same writer.
func hasEventAt(events []core.StoredEvent, at Offset) bool {
	return slices.ContainsFunc(events, func(e core.StoredEvent) bool {
		return e.SequenceNumber == at.Seq && e.Writer == at.Writer
	})
}

// missingFrom returns the missing numbers before an event, from a number on.
func missingFrom(e *core.StoredEvent, first int64) []core.Span {
	var all []core.Span
	for _, span := range e.Missing {
		if span.First = max(span.First, first); span.First <= span.Last {
			all = append(all, span)
		}
	}
	return all
}
