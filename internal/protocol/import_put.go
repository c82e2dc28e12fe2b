package protocol

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// writeAll puts events at the same time.
func (in *Import) writeAll(ctx context.Context, items []layout.Attributes, events []*layout.Event) error {
	if len(items) == 0 {
		return nil
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(in.journal.Store.Parallelism)
	for i := range items {
		group.Go(func() error { return in.write(writing, items[i], events[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	in.Written += int64(len(events))
	return in.pace(ctx)
}

// write puts an event under the condition that nothing is stored there, or the very same event.
func (in *Import) write(ctx context.Context, item layout.Attributes, e *layout.Event) error {
	j := in.journal
	err := j.Store.Client.Put(ctx, &in.meter, dynamo.Put{Table: j.Store.Table, Item: item, Condition: NotExists})
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	slot, err := j.Store.MetSlot(ctx, &in.meter, in.pid, e.SequenceNr, dynamo.OldItem(err))
	if err != nil {
		return err
	}
	return in.same(slot, e)
}

// same fails unless the slot of an event's number holds that event.
func (in *Import) same(slot layout.Slot, e *layout.Event) error {
	switch there := slot.Event; {
	case there == nil:
		return in.conflict(e.SequenceNr, "it is deleted or sealed here")
	case !layout.SameEvent(slot, e) || there.SerializerManifest != e.SerializerManifest || there.Manifest != e.Manifest:
		return in.conflict(e.SequenceNr, fmt.Sprintf("another event of writer %s stands here", there.WriterUUID))
	}
	return nil
}

// closed seals numbers, as far as they are not taken. What follows is written when they are sealed.
func (in *Import) closed(ctx context.Context, first, last int64) error {
	missing, err := in.notTaken(ctx, first, last)
	if err != nil {
		return err
	}
	return in.compared(ctx, first, last, nil, func(ctx context.Context) error {
		for _, s := range missing {
			if err := in.seal(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// notTaken finds the numbers at which nothing is stored. At the others there must be no event.
func (in *Import) notTaken(ctx context.Context, first, last int64) ([]Span, error) {
	var missing []Span
	for seq := first; seq <= last; seq++ {
		slot, there, err := in.at(ctx, seq)
		switch n := len(missing); {
		case err != nil:
			return nil, err
		case there && slot.Event != nil:
			return nil, in.conflict(seq, fmt.Sprintf("an event of writer %s is here, and none where it comes from", slot.Event.WriterUUID))
		case there:
		case n > 0 && missing[n-1].Last == seq-1 && seq%layout.PartitionSize != 0:
			missing[n-1].Last = seq
		default:
			missing = append(missing, Span{seq, seq})
		}
	}
	return missing, nil
}

// seal seals numbers of one partition.
func (in *Import) seal(ctx context.Context, s Span) error {
	return in.eachOf(ctx, s, func(ctx context.Context, seq int64) error {
		slot, err := in.journal.Store.Seal(ctx, &in.meter, in.pid, seq)
		if err == nil && slot.Event != nil {
			err = in.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
		}
		return err
	})
}

// eachOf does something with every number of a span, with several at the same time.
func (in *Import) eachOf(ctx context.Context, s Span, do func(ctx context.Context, seq int64) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(in.journal.Store.Parallelism)
	for seq := s.First; seq <= s.Last && working.Err() == nil; seq++ {
		group.Go(func() error { return do(working, seq) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return in.pace(ctx)
}

// deleted keeps numbers below the low mark taken by tombstones, where nothing is stored.
func (in *Import) deleted(ctx context.Context, first, last int64) error {
	if last < first || last >= in.lowest().Seq || last-first >= maxSpan {
		return in.invalid(first, "deleted numbers must lie below the low mark")
	}
	if in.settled {
		return in.keepTaken(ctx, first, last)
	}
	// Below this the low mark that is pending removes nothing, so no event may be there.
	if _, err := in.notTaken(ctx, first, min(last, in.low.Removed-1)); err != nil {
		return err
	}
	return in.hold(nil, func(ctx context.Context) error { return in.keepTaken(ctx, first, last) })
}

// keepTaken puts tombstones where nothing is stored, each under that condition: an event that
// nobody has removed is not of this history. In a shared journal none is put into the block of the
// highest deleted number: one that comes late could be the last item that a JVM finds there.
func (in *Import) keepTaken(ctx context.Context, first, last int64) error {
	if in.journal.Store.Shared() {
		last = min(last, layout.HighestBlock(in.low.Seq-1)-1)
	}
	missing, err := in.notTaken(ctx, first, last)
	if err != nil {
		return err
	}
	r := &remover{journal: in.journal, pid: in.pid, next: in.low.Seq}
	for _, s := range missing {
		if err := in.eachOf(ctx, s, func(ctx context.Context, seq int64) error {
			return whileYoung(in.journal, func(expires int64, young func() error) error {
				return in.tombstone(ctx, seq, r.tombstone(seq, expires), young)
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

// tombstone puts a tombstone under the condition that nothing is stored there.
func (in *Import) tombstone(ctx context.Context, seq int64, item layout.Attributes, young func() error) error {
	j := in.journal
	put := dynamo.Put{Table: j.Store.Table, Item: item, Condition: NotExists, Before: young}
	err := j.Store.Client.Put(ctx, &in.meter, put)
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	slot, err := j.Store.MetSlot(ctx, &in.meter, in.pid, seq, dynamo.OldItem(err))
	if err == nil && slot.Event != nil {
		err = in.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
	}
	return err
}

// raiseHighMark puts the high mark that a number needs, unless one as high is stored.
func (in *Import) raiseHighMark(ctx context.Context, seq int64) error {
	mark := layout.HighestBlock(seq)
	if mark <= in.high {
		return nil
	}
	if err := in.journal.Store.RaiseHighMark(ctx, &in.meter, in.pid, seq, nil); err != nil {
		return fmt.Errorf("put the high mark: %w", err)
	}
	in.high = mark
	return in.pace(ctx)
}
