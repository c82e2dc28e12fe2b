package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// remover puts tombstones at the deleted numbers of a persistence id.
type remover struct {
	journal *Journal
	pid     string
	// next is the number after the highest one.
	next int64
	// low is the low mark that was read or put last.
	low layout.LowMark
	// lowSeen is when the request began by which the low mark was last read or put.
	lowSeen clock.Moment
}

// entomb puts tombstones at the numbers lo up to hi - 1. That the low mark is still there is known
// since lowSeen: after half the fence window the persistence id may be in use anew.
func (r *remover) entomb(ctx context.Context, m *dynamo.Meter, lo, hi int64) error {
	known, rising := r.journal.fresh(r.lowSeen), r.rising(lo, hi)
	if err := r.entombBelow(ctx, m, lo, rising, known); err != nil {
		return fmt.Errorf("remove %d to %d: %w", lo, rising-1, err)
	}
	for seq := rising; seq < hi; seq++ {
		if err := r.entombOne(ctx, m, seq, known); err != nil {
			return fmt.Errorf("remove %d: %w", seq, err)
		}
	}
	return nil
}

// rising is the first of the numbers lo up to hi - 1 that is removed one by one, the lower ones
// first; hi if none is. These are, in a shared journal, the numbers in the block of the highest: a
// JVM goes on reading them. What a deletion that is cut short leaves of them is the end of what was
// there, as after a deletion of its own.
func (r *remover) rising(lo, hi int64) int64 {
	if !r.journal.Store.Shared() {
		return hi
	}
	return min(max(lo, layout.HighestBlock(r.next-1)), hi)
}

// entombBelow puts tombstones at the numbers lo up to hi - 1. They need no condition: below the low
// mark nothing counts, and a JVM does not look for its highest number there.
func (r *remover) entombBelow(ctx context.Context, m *dynamo.Meter, lo, hi int64, known func() error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.journal.Store.Parallelism)
	for first := lo; first < hi; {
		n := min(int64(r.journal.MaxBatchWrite), hi-first)
		batch := first
		first += n
		group.Go(func() error { return r.entombBatch(ctx, m, batch, n, known) })
	}
	return group.Wait()
}

// entombOne puts a tombstone at a number, if something is stored there. One that comes late must
// not bring back what a JVM has removed meanwhile: that would be the last item of its block.
func (r *remover) entombOne(ctx context.Context, m *dynamo.Meter, seq int64, known func() error) error {
	return whileYoung(r.journal, func(expires int64, young func() error) error {
		put := dynamo.Put{Table: r.journal.Store.Table, Item: r.tombstone(seq, expires), Before: both(known, young)}
		if safeguard.EntombedIfThere {
			put.Condition = Exists
		}
		err := r.journal.Store.Client.Put(ctx, m, put)
		if errors.Is(err, dynamo.ErrConditionFailed) {
			return nil
		}
		return err
	})
}

// entombBatch puts n tombstones, with an expiry that is young at every attempt.
func (r *remover) entombBatch(ctx context.Context, m *dynamo.Meter, first, n int64, known func() error) error {
	for {
		expires, young := r.journal.expiry()
		writes := make([]types.WriteRequest, n)
		for i := range writes {
			item := r.tombstone(first+int64(i), expires)
			if safeguard.Tombstones {
				writes[i].PutRequest = &types.PutRequest{Item: item}
			} else {
				writes[i].DeleteRequest = &types.DeleteRequest{Key: r.journal.Store.Keys.Event(r.pid, first+int64(i)).Attributes()}
			}
		}
		err := r.journal.Store.Client.BatchWrite(ctx, m, r.journal.Store.Table, writes, both(known, young))
		if !errors.Is(err, errExpiryOld) {
			return err
		}
	}
}

// tombstone is the item that a deleted number becomes. In a shared journal the highest number
// becomes a seal: a JVM finds its highest number by what is stored in the block, and would use this
// one again once it had expired.
func (r *remover) tombstone(seq, expires int64) layout.Attributes {
	if safeguard.HighestStays && r.journal.Store.Shared() && seq == r.next-1 {
		return r.journal.Store.Keys.EncodeSeal(r.pid, seq)
	}
	item := r.journal.Store.Keys.EncodeTombstone(r.pid, seq, expires)
	if !r.journal.Store.Shared() || seq != r.low.Seq-1 || !safeguard.TombstoneCut {
		return item
	}
	return layout.WithCut(item, r.low.Cut)
}

// putProgress says on the low mark how far removal has come. A low mark that was raised meanwhile
// stays.
func (r *remover) putProgress(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	store := r.journal.Store
	item := store.Keys.EncodeLowMark(r.pid, low, store.ids(r.pid), 0)
	seen := r.journal.Clock.Now()
	switch err := store.PutMark(ctx, m, item, LowMarkStays(low), r.journal.fresh(r.lowSeen)); {
	case errors.Is(err, ErrMarkMoved): // it may have vanished, so lowSeen stays
		return nil
	case err != nil:
		return fmt.Errorf("put the low mark: %w", err)
	}
	r.lowSeen = seen
	return nil
}
