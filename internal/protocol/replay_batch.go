package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// leaveOutBatch leaves out a batch that lacks a member, after it has confirmed that no deletion
// explains that.
func (r *replay) leaveOutBatch(ctx context.Context) error {
	if !r.batch.open() {
		return nil
	}
	if err := r.confirmLowMark(ctx, r.batch.read); err != nil {
		return err
	}
	r.batch.clear()
	return nil
}

// handOutWhole hands out a batch whose last member was read, if the members before the first one
// that was read are stored too.
func (r *replay) handOutWhole(ctx context.Context) error {
	if !r.batch.whole() {
		return nil
	}
	there, err := r.hasHead(ctx)
	if err != nil {
		return err
	}
	if !there {
		r.leaveOut(r.batch.batch, r.batch.read)
		return r.leaveOutBatch(ctx)
	}
	err = r.handOutBatch(r.batch.events)
	r.batch.clear()
	return err
}

// hasHead reports whether the members of the batch before the number where reading began are
// stored. Those below the low mark were deleted; the low mark names the batch if they were all
// there.
func (r *replay) hasHead(ctx context.Context) (bool, error) {
	b, first := r.batch.batch, r.batch.first()
	low := r.marks.Low
	if b.Start < low.First() && b.Start < first && !low.CutCompletes(b) {
		return false, nil
	}
	there, err := r.store.Members(ctx, r.meter, r.req.PersistenceID, b, max(b.Start, low.First()), first-1)
	r.batch.read = r.stamps.stamp()
	return there, err
}

// handOutBatch hands out the members of a whole batch that are in the window. A recovery stops
// before a batch that its limits would cut.
func (r *replay) handOutBatch(events []*layout.Event) error {
	if r.req.Recover && r.handing {
		last := events[len(events)-1].SequenceNr
		over := r.req.Limit != Unlimited && r.handed+int64(len(events)) > r.req.Limit
		r.handing = last <= r.req.To && !over
	}
	for _, e := range events {
		if err := r.handOut(e); err != nil {
			return err
		}
	}
	return nil
}

// startsBatch reports whether a batch can be followed from e on: from its start, from the number
// where reading began, or after the tombstone of the deletion that cut it.
func (r *replay) startsBatch(e *layout.Event) bool {
	return e.SequenceNr == e.Batch.Start || e.SequenceNr == r.firstSeq ||
		e.SequenceNr == r.cut.SequenceNr+1 && e.Batch == r.cut.Cut()
}
