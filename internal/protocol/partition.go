package protocol

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// sequence tells which of two readings was later: the one with the higher stamp.
type sequence struct{ last atomic.Int64 }

func (s *sequence) stamp() int64 { return s.last.Add(1) }

// page is a part of a partition, as it was read.
type page struct {
	slots []layout.Slot
	// read is when the reading had ended.
	read int64
	// next is where the partition goes on, nil at its end.
	next dynamo.Attributes
	// low is the low mark as it was read behind a page that shows nothing of the persistence id.
	low *lowMarkRead
	err error
}

// partitions reads one partition after the other, in order, with the first pages of the following
// ones read ahead at the same time. What is read ahead is bounded by the store's Parallelism, at
// most a megabyte each, never reaches beyond the last partition that is known to be needed, and
// begins only while the client has a place to spare: where requests wait for places, no page comes
// earlier for being asked for earlier, it would only be held longer. No partition is read twice.
type partitions struct {
	store    *Store
	meter    *dynamo.Meter
	sequence *sequence
	pid      string
	// from is the first number wanted.
	from int64
	// needed is the last partition that is read whatever the ones before it hold.
	needed int64
	// high is the high mark.
	high int64

	ctx    context.Context //nolint:containedctx // bounds what is read; ended by close
	cancel context.CancelFunc
	// unwatch stops the watching of ctx, with which the readers end: nobody may be there to dismiss
	// them, while a consumer is busy.
	unwatch func() bool
	wg      sync.WaitGroup

	mu      sync.Mutex // guards what follows: no reader gets an order after the last
	over    bool
	readers []*reader

	current int64             // the partition that is being handed out
	rest    dynamo.Attributes // where current goes on, once its first page was handed out
	begun   bool              // the first page of current was handed out
	holds   bool              // something of current was handed out
	top     int64             // the highest number that was handed out, or deleted
	empty   int64             // how many partitions in a row were empty, up to current
	first   *reader           // reads the first page of current; nil if who asks for it does
	ahead   []*reader         // read those of current+1, current+2, …
	idle    []*reader
}

// reader reads first pages for who asks for them, in a goroutine of its own. It lives as long as
// its partitions: the stack that a request needs grows once, not for each page.
type reader struct {
	orders chan order
	pages  chan page // has room for the page of the one order that is open
}

// order is a partition to read. The slot is that of dynamo.Client.QueryItems.
type order struct {
	number int64
	slot   dynamo.Slot
}

func openPartitions(ctx context.Context, r *run, from, needed int64) *partitions {
	p := &partitions{store: r.store, meter: r.meter, sequence: &r.sequence, pid: r.req.PersistenceID, from: from, needed: needed}
	p.know(r.marks)
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.unwatch = context.AfterFunc(p.ctx, p.expel)
	p.current = from / layout.PartitionSize
	return p
}

// know takes the marks, from which leadsOn goes on where nothing was handed out yet.
func (p *partitions) know(marks layout.Marks) {
	p.high, p.top = marks.High, max(marks.Low.Seq-1, 0)
}

// begin has the first page read while the caller does something else.
func (p *partitions) begin() { p.first = p.order(order{p.current, dynamo.Slot{}}) }

// close ends what is being read, if there is anything, and waits for it.
func (p *partitions) close() {
	if p != nil {
		p.unwatch()
		p.cancel()
		p.dismiss()
	}
}

// wait waits for what is being read, if there is anything.
func (p *partitions) wait() {
	if p != nil {
		p.unwatch()
		p.dismiss()
		p.cancel()
	}
}

// dismiss ends the readers, and waits for them.
func (p *partitions) dismiss() {
	p.expel()
	p.first, p.ahead, p.idle = nil, nil, nil
	p.wg.Wait()
}

// expel ends the readers, each when it has read what it was told to: a slot that is held has to be
// used.
func (p *partitions) expel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	for _, r := range p.readers {
		close(r.orders)
	}
}

// order has a reader read, one that is idle or a new one.
func (p *partitions) order(o order) *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r *reader
	if last := len(p.idle) - 1; last >= 0 {
		r, p.idle = p.idle[last], p.idle[:last]
	} else {
		r = &reader{make(chan order, 1), make(chan page, 1)}
		if !p.over {
			p.hire(r)
		}
	}
	if p.over { // the context has ended, so this only releases a slot
		r.pages <- p.read(o, nil)
		return r
	}
	r.orders <- o
	return r
}

// hire begins a reader.
func (p *partitions) hire(r *reader) {
	p.readers = append(p.readers, r)
	p.wg.Add(1)
	p.store.start(func() {
		defer p.wg.Done()
		for o := range r.orders {
			r.pages <- p.read(o, nil)
		}
	})
}

// readAhead has as many partitions behind the current one read as are needed, may be, and have a
// place.
func (p *partitions) readAhead() {
	for len(p.ahead) < p.store.Parallelism-1 {
		number := p.current + 1 + int64(len(p.ahead))
		if number > p.needed {
			return
		}
		slot := p.store.Client.Reserve()
		if !slot.Held() {
			return
		}
		p.ahead = append(p.ahead, p.order(order{number, slot}))
	}
}

// read reads a page of a partition.
func (p *partitions) read(o order, next dynamo.Attributes) page {
	lo := max(o.number*layout.PartitionSize, p.from)
	in := p.store.partitionQuery(p.pid, lo, partitionEnd(lo))
	in.ExclusiveStartKey = next
	slots, next, err := p.store.page(p.ctx, p.meter, p.pid, o.number, in, o.slot)
	got := page{slots: slots, read: p.sequence.stamp(), next: next, err: err}
	if lo == 1 && in.ExclusiveStartKey == nil && err == nil && len(slots) == 0 {
		// A new persistence id, as it seems: the low mark is asked for while the marks may still be
		// on their way. If that fails, who needs it asks again, and has the error.
		got.low, _ = p.store.lowMarksIn(p.ctx, p.meter, p.pid, p.sequence, p.store.lowMarkCandidates(layout.Marks{}, 1))
	}
	return got
}

// next hands out the next page; false after the last: that of the last needed partition, or of one
// behind it where nothing leads farther. A partition may be empty.
func (p *partitions) next() (page, bool) {
	if p.begun && p.rest == nil {
		if p.current >= p.needed && !p.leadsOn() {
			return page{}, false
		}
		p.current++
		p.begun, p.holds = false, false
		if len(p.ahead) > 0 {
			p.first, p.ahead = p.ahead[0], p.ahead[1:]
		}
	}
	got := p.take()
	p.begun = true
	p.rest = got.next
	if n := len(got.slots); n > 0 {
		p.top, p.holds = max(p.top, got.slots[n-1].SequenceNr), true // what is deleted can be above it
	}
	switch {
	case p.holds:
		p.empty = 0
	case got.next == nil:
		p.empty++
	}
	return got, got.err == nil
}

// leadsOn reports whether something may follow that no high mark points to.
func (p *partitions) leadsOn() bool {
	return p.top > 0 && p.current < everywhere.last && p.current-p.top/layout.PartitionSize < p.store.looksBehind(p.top, p.high)
}

// skipTo makes a partition farther on the one that is read next.
func (p *partitions) skipTo(number int64) {
	for _, r := range p.ahead {
		<-r.pages
	}
	p.idle, p.ahead = append(p.idle, p.ahead...), nil
	p.current, p.empty = number-1, 0
}

// take takes the page that comes next: from its reader, or it is read here, before anything behind
// it. Meanwhile there is reading ahead.
func (p *partitions) take() page {
	if r := p.first; r != nil {
		p.readAhead()
		got := <-r.pages
		p.first, p.idle = nil, append(p.idle, r)
		return got
	}
	slot := p.store.Client.Reserve()
	if slot.Held() {
		p.readAhead()
	}
	return p.read(order{p.current, slot}, p.rest)
}
