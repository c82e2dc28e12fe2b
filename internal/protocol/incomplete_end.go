package protocol

import (
	"context"
)

// closeIncompleteEnd closes the next number if the journal ends with a member of an atomic write
// whose last member is missing. It reports whether there is another slot to decide on: the seal, or
// an event that has arrived meanwhile.
//
// No writer in Go needs that: the next write takes the number after the members, or collides there.
// But a JVM recognizes an atomic write by its last number only. It would take the members for the
// beginning of the next atomic write that ends at the same number, and show neither. A seal between
// them ends the first one.
func (r *replay) closeIncompleteEnd(ctx context.Context) (bool, error) {
	next := r.top.highest + 1
	if !r.req.Recover || !r.store.Shared() || r.top.endsAt < next || r.top.highest < r.firstSeq {
		return false, nil
	}
	store := r.store.While(r.store.fresh())
	if err := r.confirmLowMark(ctx, r.slots.read); err != nil {
		return false, err
	}
	slot, err := store.Seal(ctx, r.meter, r.req.PersistenceID, next, 0)
	if err != nil {
		return false, err
	}
	r.slots.waiting = append(r.slots.waiting, readSlot{Slot: slot, at: r.stamps.stamp()})
	return true, nil
}
