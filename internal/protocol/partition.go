package protocol

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// logicalClock orders reads: the later one has the higher stamp.
type logicalClock struct{ last atomic.Int64 }

func (s *logicalClock) stamp() int64 { return s.last.Add(1) }

// page is a page of a partition.
type page struct {
	slots []layout.Slot
	// read is the stamp of the end of the read.
	read int64
	// next is the key after which the next page starts, or nil after the last page.
	next dynamo.Attributes
	// low is the low mark that was read after a page without items of the persistence id.
	low *lowMarkRead
	err error
}

// partitions reads one partition after the other, in order, and reads the first pages of the next
// ones ahead. Pages read ahead are limited by the store's Parallelism, at most a megabyte each.
// They never go beyond the last partition that is known to be needed. Reading ahead starts only
// while the client has a free connection: if requests wait for connections, a page that is
// requested earlier does not arrive earlier, and only uses memory for longer. No partition is read
// twice.
type partitions struct {
	store  *Store
	meter  *dynamo.Meter
	stamps *logicalClock
	pid    string
	// from is the first number wanted.
	from int64
	// needed is the last partition that is read even if the ones before it are empty.
	needed int64
	// high is the block to which the marks lead.
	high int64

	ctx    context.Context //nolint:containedctx // bounds the reads; canceled by close
	cancel context.CancelFunc
	// unwatch stops the AfterFunc of ctx, which stops the readers: the consumer may be too busy to
	// stop them.
	unwatch func() bool
	wg      sync.WaitGroup

	mu      sync.Mutex // guards the next two fields: a stopped reader gets no request
	stopped bool
	readers []*reader

	current int64             // the partition that is being handed out
	rest    dynamo.Attributes // where current continues, once its first page was handed out
	started bool              // the first page of current was handed out
	found   bool              // a slot of current was handed out
	top     int64             // the highest number that was handed out, or deleted
	empty   int64             // the number of empty partitions in a row, up to current
	first   *reader           // reads the first page of current; if it is nil, take reads it
	ahead   []*reader         // read the first pages of current+1, current+2, …
	idle    []*reader
}

// reader reads first pages on request, in its own goroutine. It lives as long as its partitions:
// the stack that a request needs grows once, and not for each page.
type reader struct {
	requests chan pageRequest
	pages    chan page // has space for the page of the only open request
}

// pageRequest names the page to read. slot is passed to [dynamo.Client.QueryItems].
type pageRequest struct {
	number int64
	slot   dynamo.Slot
}

func openPartitions(ctx context.Context, r *replay, from, needed int64) *partitions {
	p := &partitions{store: r.store, meter: r.meter, stamps: &r.stamps, pid: r.req.PersistenceID, from: from,
		needed: needed}
	p.setMarks(r.marks)
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.unwatch = context.AfterFunc(p.ctx, p.stopReaders)
	p.current = from / layout.PartitionSize
	return p
}

// setMarks sets the marks, by which leadsOn decides before anything was handed out.
func (p *partitions) setMarks(marks layout.Marks) {
	p.high, p.top = p.store.Leads(marks), max(marks.Low.Seq-1, 0)
}

// prefetch requests the first page.
func (p *partitions) prefetch() { p.first = p.request(pageRequest{p.current, dynamo.Slot{}}) }

// close cancels the reads in flight, and waits for them.
func (p *partitions) close() {
	if p != nil {
		p.unwatch()
		p.cancel()
		p.waitForReaders()
	}
}

// wait waits for the reads in flight.
func (p *partitions) wait() {
	if p != nil {
		p.unwatch()
		p.waitForReaders()
		p.cancel()
	}
}

// waitForReaders stops the readers, and waits for them.
func (p *partitions) waitForReaders() {
	p.stopReaders()
	p.first, p.ahead, p.idle = nil, nil, nil
	p.wg.Wait()
}

// stopReaders stops the readers. Each finishes its requests first: a reserved slot has to be used.
func (p *partitions) stopReaders() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.stopped = true
	for _, r := range p.readers {
		close(r.requests)
	}
}

// request requests a page from an idle reader or a new one.
func (p *partitions) request(o pageRequest) *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r *reader
	if last := len(p.idle) - 1; last >= 0 {
		r, p.idle = p.idle[last], p.idle[:last]
	} else {
		r = &reader{make(chan pageRequest, 1), make(chan page, 1)}
		if !p.stopped {
			p.startReader(r)
		}
	}
	if p.stopped { // the context has ended, so this only releases a slot
		r.pages <- p.read(o, nil)
		return r
	}
	r.requests <- o
	return r
}

// startReader starts a reader.
func (p *partitions) startReader(r *reader) {
	p.readers = append(p.readers, r)
	p.wg.Add(1)
	p.store.start(func() {
		defer p.wg.Done()
		for o := range r.requests {
			r.pages <- p.read(o, nil)
		}
	})
}

// readAhead requests the next partitions, as many as are needed, are allowed, and have a free
// connection.
func (p *partitions) readAhead() {
	for len(p.ahead) < p.store.Parallelism-1 {
		number := p.current + 1 + int64(len(p.ahead))
		if number > p.needed {
			return
		}
		slot := p.store.Client.Reserve()
		if !slot.IsAcquired() {
			return
		}
		p.ahead = append(p.ahead, p.request(pageRequest{number, slot}))
	}
}

// read reads a page of a partition.
func (p *partitions) read(o pageRequest, next dynamo.Attributes) page {
	lo := max(o.number*layout.PartitionSize, p.from)
	in := p.store.partitionQuery(p.pid, lo, partitionEnd(lo))
	in.ExclusiveStartKey = next
	slots, next, err := p.store.page(p.ctx, p.meter, p.pid, o.number, in, o.slot)
	got := page{slots: slots, read: p.stamps.stamp(), next: next, err: err}
	if lo == 1 && in.ExclusiveStartKey == nil && err == nil && len(slots) == 0 {
		// The persistence id seems to be new: the low mark is read while the marks may still be in
		// flight. If that fails, it is read again where it is needed, which returns the error.
		got.low, _ = p.store.lowMarksIn(p.ctx, p.meter, p.pid, p.stamps, p.store.lowMarkCandidates(layout.Marks{}, 1))
	}
	return got
}

// next returns the next page, which may be empty. It reports false after the last page of the last
// needed partition, or of a later partition after which nothing follows.
func (p *partitions) next() (page, bool) {
	if p.started && p.rest == nil {
		if p.current >= p.needed && !p.leadsOn() {
			return page{}, false
		}
		p.current++
		p.started, p.found = false, false
		if len(p.ahead) > 0 {
			p.first, p.ahead = p.ahead[0], p.ahead[1:]
		}
	}
	got := p.take()
	p.started = true
	p.rest = got.next
	if n := len(got.slots); n > 0 {
		// Deleted numbers can be above it.
		p.top, p.found = max(p.top, got.slots[n-1].SequenceNr), true
	}
	switch {
	case p.found:
		p.empty = 0
	case got.next == nil:
		p.empty++
	}
	return got, got.err == nil
}

// leadsOn reports whether items may follow that no high mark points to.
func (p *partitions) leadsOn() bool {
	return p.top > 0 && p.current < everywhere.last &&
		p.current-p.top/layout.PartitionSize < p.store.emptyPartitionsAfter(p.top, p.high)
}

// skipTo continues with a later partition.
func (p *partitions) skipTo(number int64) {
	for _, r := range p.ahead {
		<-r.pages
	}
	p.idle, p.ahead = append(p.idle, p.ahead...), nil
	p.current, p.empty = number-1, 0
}

// take returns the next page. It gets the page from its reader, or reads it, and meanwhile reads
// ahead.
func (p *partitions) take() page {
	if r := p.first; r != nil {
		p.readAhead()
		got := <-r.pages
		p.first, p.idle = nil, append(p.idle, r)
		return got
	}
	slot := p.store.Client.Reserve()
	if slot.IsAcquired() {
		p.readAhead()
	}
	return p.read(pageRequest{p.current, slot}, p.rest)
}
