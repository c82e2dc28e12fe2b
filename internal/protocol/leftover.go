package protocol

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// When the fence window of a purge is over, DynamoDB removes what the purge has left: within days,
// item by item, in any order. Once the low mark is gone, a process that finds nothing begins again
// at 1, and tombstones and high marks may be left behind it, where nothing leads to yet. A recovery
// that raised the low mark over such a tombstone would hide the new events below it.
//
// So in a native journal tombstones and high marks that have expired count as removed. A low mark
// counts while it is stored, and a purge lets it expire later than all the rest: whoever finds it
// gone finds the rest expired. The service's time decides, which the response that returns the item
// brings; clocks that differ by minutes do no harm. In a shared journal a purge leaves nothing.

// LeftoverBefore returns the time before which an expiry makes an item a leftover, in seconds since
// 1970, or 0 if there are none.
func (s *Store) LeftoverBefore() int64 {
	if s.Shared() || s.ServiceTime == nil {
		return 0
	}
	now, ok := s.ServiceTime()
	if !ok {
		return 0
	}
	return now.Unix()
}

// IsLeftover reports whether a slot is a tombstone that has expired, and so counts as removed.
func (s *Store) IsLeftover(slot layout.Slot) bool {
	return slot.Tombstone() && slot.Expires < s.LeftoverBefore()
}

// WithLeftovers returns the store without a service's time: everything that is stored counts.
func (s *Store) WithLeftovers() *Store {
	all := *s
	all.ServiceTime = nil
	return &all
}

// withoutLeftovers removes the tombstones that have expired from the slots of a page.
func (s *Store) withoutLeftovers(slots []layout.Slot) []layout.Slot {
	return slices.DeleteFunc(slots, s.IsLeftover)
}

// putIfFree puts an item under the condition that nothing is stored at its number. If something is
// stored there, putIfFree returns it and reports true. A tombstone that has expired is removed.
func (s *Store) putIfFree(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, put dynamo.Put,
) (slot layout.Slot, taken bool, err error) {
	put.Table, put.Condition = s.Table, NotExists
	for {
		err = s.Client.Put(ctx, m, put)
		if !errors.Is(err, dynamo.ErrConditionFailed) {
			return layout.Slot{}, false, err
		}
		slot, err = s.MetSlot(ctx, m, pid, seq, dynamo.OldItem(err))
		if err != nil || !s.IsLeftover(slot) {
			return slot, err == nil, err
		}
		if _, err = s.RemoveExpired(ctx, m, pid, seq, s.LeftoverBefore()); err != nil {
			return slot, false, err
		}
	}
}

// removeLeftovers removes the tombstones of a partition that have expired.
func (s *Store) removeLeftovers(ctx context.Context, m *dynamo.Meter, pid string, p int64) error {
	slots, err := s.WithLeftovers().Partition(ctx, m, pid, p)
	if err != nil {
		return err
	}
	group, removing := errgroup.WithContext(ctx)
	group.SetLimit(s.Parallelism)
	for _, slot := range slots {
		if s.IsLeftover(slot) {
			group.Go(func() error {
				_, err := s.RemoveExpired(removing, m, pid, slot.SequenceNr, s.LeftoverBefore())
				return err
			})
		}
	}
	return group.Wait()
}

// lowMarkOutlives is how much longer than a tombstone the low mark of a purge is stored. Tombstones
// were put with clocks that were off by up to a part of the fence window, so some can expire as
// much later.
func (j *Journal) lowMarkOutlives() time.Duration {
	return 2 * j.FenceWindow / clockPart
}
