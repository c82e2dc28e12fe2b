package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// unfinishedBatch is a batch that a reader leaves out because members were missing when it read
// their numbers. The missing members may still come, as long as the reader has only seen other
// members of the batch after them.
type unfinishedBatch struct {
	batch layout.Batch
	// at is the stamp of the read in which members were missing.
	at int64
}

// checkUnfinished reads an unfinished batch again before the reader accepts an item after it. An
// item that was read before the members were found missing shows that they never come: its writer
// has closed everything below. An item that was read later does not: the members can have come in
// between. If the batch is whole now, the replay starts again at its first member.
func (r *replay) checkUnfinished(ctx context.Context, slot readSlot) error {
	b, at := r.unfinished.batch, r.unfinished.at
	if !b.IsBatch() || slot.hole || slot.SequenceNr <= b.Last {
		return nil
	}
	r.unfinished = unfinishedBatch{}
	low := r.marks.Low
	if slot.at <= at || b.Start < low.First() && !low.CutCompletes(b) {
		return nil
	}
	there, err := r.store.Members(ctx, r.meter, r.req.PersistenceID, b, max(b.Start, low.First()), b.Last)
	if err != nil || !there {
		return err
	}
	r.want = max(b.Start, r.firstSeq)
	return errStale
}

// leaveOut records that a reader leaves out a batch that lacks members.
func (r *replay) leaveOut(b layout.Batch, at int64) {
	if !r.req.Recover {
		r.unfinished = unfinishedBatch{b, at}
	}
}

// beforeUnfinished returns the number at which a replay starts again: from, or the first member of
// an unfinished batch that may have become whole since, if that is lower. Nothing after that member
// was handed out.
func (r *replay) beforeUnfinished(from int64) int64 {
	b := r.unfinished.batch
	if !b.IsBatch() || b.Start <= r.progress.decided {
		return from
	}
	return min(from, max(b.Start, r.firstSeq))
}
