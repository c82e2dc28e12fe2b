package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// unfinished is a batch that a reader leaves out because members of it were missing when the reader
// looked. As long as only other members were seen behind them, the missing ones may still be on
// their way.
type unfinished struct {
	batch layout.Batch
	// at is when members were missing.
	at int64
}

// finished looks at an unfinished batch again before the reader accepts what is stored behind it.
// What was read before the members were missing shows that they never come: its writer has closed
// everything below. What was read later does not: they can have come in between. If the batch is
// whole now, reading begins anew at its first member.
func (r *run) finished(ctx context.Context, slot read) error {
	b, at := r.unfinished.batch, r.unfinished.at
	if !safeguard.LateMembers || !b.IsBatch() || slot.hole || slot.SequenceNr <= b.Last {
		return nil
	}
	r.unfinished = unfinished{}
	low := r.marks.Low
	if slot.at <= at || b.Start < low.First() && !low.CutCompletes(b) {
		return nil
	}
	there, err := r.store.Members(ctx, r.meter, r.req.PersistenceID, b, max(b.Start, low.First()), b.Last)
	if err != nil || !there {
		return err
	}
	r.want = max(b.Start, r.began)
	return errFinished
}

// leave notes that a reader leaves out a batch of which members are missing.
func (r *run) leave(b layout.Batch, at int64) {
	if !r.req.Recover {
		r.unfinished = unfinished{b, at}
	}
}
