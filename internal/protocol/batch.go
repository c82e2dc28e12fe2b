package protocol

import (
	"github.com/dynajournal/dynajournal/internal/layout"
)

// pendingBatch collects consecutive members of an atomic write, until the write is known to be
// whole. A batch counts if all its members are stored, and otherwise not at all.
type pendingBatch struct {
	batch layout.Batch
	// events are the members read so far, from the start of the batch or from where reading began.
	events []*layout.Event
	// read is the stamp of the last member that was read.
	read int64
}

// open reports whether there are members whose batch is not whole yet.
func (p *pendingBatch) open() bool { return len(p.events) > 0 }

// first returns the number of the first member that was read.
func (p *pendingBatch) first() int64 { return p.events[0].SequenceNr }

// continues reports whether e is the next member.
func (p *pendingBatch) continues(e *layout.Event) bool {
	return p.open() && e.Batch == p.batch && e.SequenceNr == p.first()+int64(len(p.events))
}

func (p *pendingBatch) add(e *layout.Event, read int64) {
	p.batch = e.Batch
	p.events = append(p.events, e)
	p.read = read
}

// whole reports whether all members were read, from the first that was read to the last of the
// batch.
func (p *pendingBatch) whole() bool {
	return p.open() && p.events[len(p.events)-1].SequenceNr == p.batch.Last
}

// clear empties the batch. It keeps the memory of the list, but not the events.
func (p *pendingBatch) clear() {
	clear(p.events)
	*p = pendingBatch{events: p.events[:0]}
}
