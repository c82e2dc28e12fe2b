package replay

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// clock orders readings: what has a later stamp was read later.
type clock struct{ now atomic.Int64 }

func (c *clock) stamp() int64 { return c.now.Add(1) }

// page is a part of a partition, as it was read.
type page struct {
	slots []layout.Slot
	// read is when the reading had ended.
	read int64
	// next is where the partition goes on, nil at its end.
	next dynamo.Attributes
	err  error
}

// partitions reads one partition after the other, in order, with the first pages of the following ones read ahead at the
// same time. What is read ahead is bounded by the store's Parallelism, at most a megabyte each, and never reaches beyond
// the last partition that is known to be needed. No partition is read twice.
type partitions struct {
	store *Store
	meter *dynamo.Meter
	clock *clock
	pid   string
	// from is the first number wanted.
	from int64
	// needed is the last partition that is read whatever the ones before it hold.
	needed int64

	ctx    context.Context //nolint:containedctx // bounds what is read ahead; ended by close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	current int64             // the partition that is being handed out
	ahead   []chan page       // first pages of current, current+1, …
	rest    dynamo.Attributes // where current goes on, once its first page was handed out
	begun   bool              // the first page of current was handed out
	full    bool              // current ends with its last number
}

func openPartitions(ctx context.Context, r *run, from, needed int64) *partitions {
	p := &partitions{store: r.store, meter: r.meter, clock: &r.clock, pid: r.req.PersistenceID, from: from, needed: needed}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.current = from / layout.PartitionSize
	p.readAhead()
	return p
}

// close ends what is read ahead, and waits for it.
func (p *partitions) close() {
	p.cancel()
	p.wg.Wait()
}

// wait waits for what is read ahead, if there is anything.
func (p *partitions) wait() {
	if p != nil {
		p.wg.Wait()
		p.cancel()
	}
}

// readAhead begins the reading of the current partition, and of as many behind it as are needed and may be.
func (p *partitions) readAhead() {
	for len(p.ahead) == 0 || len(p.ahead) < p.store.Parallelism && p.current+int64(len(p.ahead)) <= p.needed {
		number := p.current + int64(len(p.ahead))
		first := make(chan page, 1)
		p.ahead = append(p.ahead, first)
		p.wg.Go(func() { first <- p.read(number, nil) })
	}
}

// read reads a page of a partition.
func (p *partitions) read(number int64, next dynamo.Attributes) page {
	lo := max(number*layout.PartitionSize, p.from)
	in := p.store.partitionQuery(p.pid, lo, partitionEnd(lo))
	in.ExclusiveStartKey = next
	slots, next, err := p.store.page(p.ctx, p.meter, p.pid, number, in)
	return page{slots, p.clock.stamp(), next, err}
}

// next hands out the next page; false after the last: that of the last needed partition, or of one behind it that does not
// end with its last number. A partition may be empty.
func (p *partitions) next() (page, bool) {
	if p.begun && p.rest == nil {
		if p.current >= p.needed && (!p.full || !safeguard.TailChase) {
			return page{}, false
		}
		p.current++
		p.begun, p.full = false, false
		p.ahead = p.ahead[1:]
	}
	p.readAhead()
	var got page
	if !p.begun {
		got = <-p.ahead[0]
		p.begun = true
	} else {
		got = p.read(p.current, p.rest)
	}
	p.rest = got.next
	if n := len(got.slots); n > 0 {
		last := got.slots[n-1].SequenceNr
		p.full = last == partitionEnd(last) && last < layout.MaxSequenceNumber
	}
	return got, got.err == nil
}
