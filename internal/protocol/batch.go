package protocol

import (
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// pending is an atomic write of which the members read so far have numbers in a row, and which
// is not yet known to be whole. A batch counts when all its members are there, and never partly.
type pending struct {
	batch layout.Batch
	// events are the members from the first one that was read on: from the batch's start, or from
	// where reading began.
	events []*layout.Event
	// read is when the last of them was read.
	read int64
}

// open reports whether there are members that wait for the others.
func (p *pending) open() bool { return len(p.events) > 0 }

// first is the number of the first member that was read.
func (p *pending) first() int64 { return p.events[0].SequenceNr }

// continues reports whether e is the member that comes next.
func (p *pending) continues(e *layout.Event) bool {
	return p.open() && (e.Batch == p.batch || !safeguard.SameBatch) && e.SequenceNr == p.first()+int64(len(p.events))
}

// begins reports whether a batch can be followed from e on: from its start, from the number where
// reading began, or from behind the tombstone of the deletion that cut it.
func (r *run) begins(e *layout.Event) bool {
	return e.SequenceNr == e.Batch.Start || e.SequenceNr == r.began ||
		e.SequenceNr == r.cut.SequenceNr+1 && e.Batch == r.cut.Cut
}

func (p *pending) add(e *layout.Event, read int64) {
	p.batch = e.Batch
	p.events = append(p.events, e)
	p.read = read
}

// whole reports whether the last member is there, with all members before it down to the first that
// was read.
func (p *pending) whole() bool {
	return p.open() && p.events[len(p.events)-1].SequenceNr == p.batch.Last
}

func (p *pending) clear() { *p = pending{} }
