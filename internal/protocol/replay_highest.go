package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// skipEmpty is called after an empty partition. If the high mark leads to many more partitions, it
// may be damaged, so skipEmpty finds the end of the journal. After many empty partitions in a row
// it continues with the next partition that has items. The skipped numbers are read once more
// before they count as missing, as in any gap.
//
// A regular journal has no empty partition before its end, unless an atomic write is in progress or
// was cut short, and then the high mark is within reach.
func (r *replay) skipEmpty(ctx context.Context) error {
	p := r.pages
	if p.empty == 0 || p.needed-p.current <= r.store.reach() {
		return nil
	}
	if !r.ended {
		end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
		if err != nil {
			return err
		}
		r.ended, r.high, r.farMark = true, end.Highest, end.FarMark
		p.needed = r.needed()
	}
	if p.empty < emptyPartitionsIfDamaged || p.needed-p.current <= r.store.reach() {
		return nil
	}
	if r.search == nil {
		r.search = &partitionSearch{store: r.store, meter: r.meter, pid: r.req.PersistenceID, marks: r.marks,
			edge: sampleEdge}
	}
	next, found, err := r.search.next(ctx, p.current, p.needed)
	if err != nil {
		return err
	}
	if !found { // everything there was removed meanwhile
		next = p.needed
	}
	p.skipTo(next)
	return nil
}

// findHighest finds the highest number of a recovery that has read all pages. It reports false if
// reading has to start again, because something is stored after the first number that was not there
// when its partition was read.
func (r *replay) findHighest(ctx context.Context) (bool, error) {
	if r.top.highest > 0 || r.firstSeq == r.marks.Low.First() {
		r.top.highest = max(r.top.highest, r.marks.Low.Seq-1)
		return true, nil
	}
	end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
	if err == nil && end.Highest < r.req.From-1 {
		end.Highest, err = r.beforeSnapshot(ctx, end.Highest)
	}
	if err != nil {
		return false, err
	}
	r.farMark = max(r.farMark, end.FarMark)
	if end.Highest >= r.firstSeq {
		r.high = max(r.high, layout.HighestBlock(end.Highest)) // the next pass has to read that far
		return false, r.restart(ctx)
	}
	r.top.highest = end.Highest
	return true, nil
}

// beforeSnapshot returns the highest number of a recovery after a snapshot that is higher than
// highest, the number to which the marks lead. The marks are hints: a journal can continue where
// they do not lead, if its partition lacks its last number and there are no high marks. A low mark
// raised to the snapshot would hide all these events. So the partition of the snapshot and the one
// after it are read first, because the numbers in between can be holes. If both are empty, the
// partitions after the highest number are read, up to the first empty one.
func (r *replay) beforeSnapshot(ctx context.Context, highest int64) (int64, error) {
	known, last := highest/layout.PartitionSize, (r.req.From-1)/layout.PartitionSize
	for p := min(last+1, everywhere.last); p >= max(last, known+1); p-- {
		top, err := r.store.top(ctx, r.meter, r.req.PersistenceID, p)
		if err != nil {
			return 0, err
		}
		if top > 0 {
			r.high = max(r.high, layout.HighestBlock(top)) // the next pass has to read that far
			marks := r.marks
			marks.High = layout.HighestBlock(top)
			return r.store.Highest(ctx, r.meter, r.req.PersistenceID, marks)
		}
	}
	for p := known + 1; p < last; p++ {
		top, err := r.store.top(ctx, r.meter, r.req.PersistenceID, p)
		if err != nil {
			return 0, err
		}
		if top == 0 {
			break
		}
		highest = top
	}
	return highest, nil
}
