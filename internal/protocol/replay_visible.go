package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// The last visible event is the last one that readers find, or found before it was deleted. It can
// be below the highest number: seals, holes and parts of atomic writes that failed are not visible.
//
// A deletion ends at the last visible event (see [Writer.DeleteTo]), so the last deleted number was
// visible. The last visible event is therefore the last one that is stored, or else the last
// deleted number: it needs no record of its own.

// noteBefore records a slot before the first number to decide on. A single event there is visible.
// A member of an atomic write may not be.
func (r *replay) noteBefore(slot readSlot) {
	if slot.Event != nil && !slot.Event.Batch.IsBatch() {
		r.visible = max(r.visible, slot.SequenceNr)
	}
}

// lastVisible returns the number of the last visible event of a recovery that has read all pages,
// or 0 if there never was one. The event of a snapshot was visible. Otherwise, if the last event is
// not among the numbers that were read, lastVisible reads the lower numbers backwards. It fails
// with a *HoleError if more numbers in a row are not visible than a writer leaves.
func (r *replay) lastVisible(ctx context.Context) (int64, error) {
	last := max(r.visible, r.marks.Low.Seq-1, 0)
	if r.req.Snapshot {
		return max(last, r.req.From-1), nil
	}
	to := min(r.req.From-1, r.top.highest)
	for top, from := to, to; last < to; {
		result, err := r.store.Replay(ctx, r.meter, Request{
			PersistenceID: r.req.PersistenceID, From: max(from, 1), To: to, Limit: Unlimited, SkipMissing: r.req.SkipMissing,
		}, func(e *layout.Event) error {
			last = max(last, e.SequenceNr)
			return nil
		})
		if err != nil {
			return 0, err
		}
		last = max(last, result.Marks.Low.Seq-1)
		// Others may have written and deleted more since: this recovery does not know of that.
		last = min(last, r.top.highest)
		if to = from - 1; last >= from {
			break
		}
		if top-to >= MaxHole {
			return 0, &HoleError{r.req.PersistenceID, from, top, r.marks.High, r.marks.Low.Seq}
		}
		from = to - to%layout.PartitionSize
	}
	return last, nil
}
