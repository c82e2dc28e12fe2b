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
)

// remover puts tombstones at the deleted numbers of a persistence id.
type remover struct {
	journal *Journal
	pid     string
	// next is the number after the highest one.
	next int64
	// low is the low mark that was last read or put.
	low layout.LowMark
	// lowSeen is the start of the last request that read or put the low mark.
	lowSeen clock.Moment
}

// putTombstones puts tombstones at the numbers lo up to hi - 1. It relies on the low mark, which
// was known to be stored at lowSeen: after half the fence window the persistence id may be in use
// again.
func (r *remover) putTombstones(ctx context.Context, m *dynamo.Meter, lo, hi int64) error {
	known, single := r.journal.fresh(r.lowSeen), r.firstSingle(lo, hi)
	if err := r.putTombstonesBelow(ctx, m, lo, single, known); err != nil {
		return fmt.Errorf("remove %d to %d: %w", lo, single-1, err)
	}
	for seq := single; seq < hi; seq++ {
		if err := r.putTombstone(ctx, m, seq, known); err != nil {
			return fmt.Errorf("remove %d: %w", seq, err)
		}
	}
	return nil
}

// firstSingle returns the first of the numbers lo up to hi - 1 that is removed one by one, in
// ascending order, or hi. In a shared journal these are the numbers in the block of the highest
// number, which a JVM reads. So an interrupted deletion leaves the last items of the block, as a
// JVM's own deletion does.
func (r *remover) firstSingle(lo, hi int64) int64 {
	if !r.journal.Store.Shared() {
		return hi
	}
	return min(max(lo, layout.HighestBlock(r.next-1)), hi)
}

// putTombstonesBelow puts tombstones at the numbers lo up to hi - 1. They need no condition: below
// the low mark nothing counts, and a JVM does not search its highest number there.
func (r *remover) putTombstonesBelow(ctx context.Context, m *dynamo.Meter, lo, hi int64, known func() error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.journal.Store.Parallelism)
	for first := lo; first < hi; {
		n := min(int64(r.journal.MaxBatchWrite), hi-first)
		batch := first
		first += n
		group.Go(func() error { return r.putTombstoneBatch(ctx, m, batch, n, known) })
	}
	return group.Wait()
}

// putTombstone puts a tombstone at a number if something is stored there. A late tombstone must not
// fill a number that a JVM has removed meanwhile: it would be the last item of its block.
func (r *remover) putTombstone(ctx context.Context, m *dynamo.Meter, seq int64, known func() error) error {
	return putWithExpiry(r.journal, func(expires int64, fresh func() error) error {
		put := dynamo.Put{Table: r.journal.Store.Table, Item: r.tombstone(seq, expires), Before: both(known, fresh)}
		put.Condition = Exists
		err := r.journal.Store.Client.Put(ctx, m, put)
		if errors.Is(err, dynamo.ErrConditionFailed) {
			return nil
		}
		return err
	})
}

// putTombstoneBatch puts n tombstones, with an expiry that is recent at every attempt.
func (r *remover) putTombstoneBatch(ctx context.Context, m *dynamo.Meter, first, n int64, known func() error) error {
	for {
		expires, fresh := r.journal.expiry()
		writes := make([]types.WriteRequest, n)
		for i := range writes {
			item := r.tombstone(first+int64(i), expires)
			writes[i].PutRequest = &types.PutRequest{Item: item}
		}
		err := r.journal.Store.Client.BatchWrite(ctx, m, r.journal.Store.Table, writes, both(known, fresh))
		if !errors.Is(err, errExpiryStale) {
			return err
		}
	}
}

// tombstone returns the item that a deleted number becomes. In a shared journal the highest number
// becomes a seal: a JVM finds its highest number by the items of the block. After a tombstone had
// expired, it would use this number again.
//
// If the deletion cuts an atomic write, the last tombstone names that write. With one shard the
// tombstone of each of its members names it: if the deletion is interrupted, and a JVM's low mark
// then replaces this one, the next recovery finds by the last tombstone that the remaining members
// count.
func (r *remover) tombstone(seq, expires int64) layout.Attributes {
	if r.journal.Store.Shared() && seq == r.next-1 {
		return r.journal.Store.Keys.EncodeSeal(r.pid, seq)
	}
	item := r.journal.Store.Keys.EncodeTombstone(r.pid, seq, expires)
	if !r.journal.Store.Shared() || seq < r.low.Cut.Start {
		return item
	}
	if seq != r.low.Seq-1 && r.journal.Store.Keys.Shards > 1 {
		return item
	}
	return layout.WithCut(item, r.low.Cut)
}

// putProgress records the progress of the removal on the low mark, unless the low mark was raised
// meanwhile.
func (r *remover) putProgress(ctx context.Context, m *dynamo.Meter, low layout.LowMark) error {
	store := r.journal.Store
	item := store.encodeLowMark(r.pid, low)
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
