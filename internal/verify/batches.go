package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// span is a range of numbers.
type span struct{ first, last int64 }

// members is an atomic write with at least one stored member.
type members struct {
	batch layout.Batch
	// there are the numbers of the stored members.
	there []span
	count int64
	// dead reports that it can never become whole: something else is stored at a member's number,
	// or its beginning was deleted and the low mark does not name it as whole.
	dead bool
	// unreadable reports that an item at a member's number can't be read: it may be the member.
	unreadable bool
}

func (b *members) add(seq int64) {
	b.count++
	if n := len(b.there); n > 0 && b.there[n-1].last == seq-1 {
		b.there[n-1].last = seq
		return
	}
	b.there = append(b.there, span{seq, seq})
}

// batches follows the atomic writes whose last number has not been reached. If writers have
// overwritten each other, there can be many: each is reported once, when all its numbers are known.
type batches struct {
	open []*members
	// taken is the last live number at which an event or a seal is stored. unreadable is the last
	// live number with an item that can't be read.
	taken, unreadable int64
}

// reached removes and returns the atomic writes that end before a number.
func (b *batches) reached(seq int64) []*members {
	var over []*members
	b.open = slices.DeleteFunc(b.open, func(m *members) bool {
		if m.batch.Last < seq {
			over = append(over, m)
			return true
		}
		return false
	})
	return over
}

// rest returns the atomic writes that are still open at the end.
func (b *batches) rest() []*members {
	over := b.open
	b.open = nil
	return over
}

// closed records that a seal or a single event is stored at a number.
func (b *batches) closed(seq int64) {
	for _, m := range b.open {
		m.dead = true
	}
	b.taken = seq
}

// illegible records that an item that can't be read is stored at a number.
func (b *batches) illegible(seq int64) {
	for _, m := range b.open {
		m.unreadable = true
	}
	b.unreadable = seq
}

// member records that a member of an atomic write is stored at a number. first is the lowest number
// at which a member can be stored. cut reports that the beginning was deleted and the low mark does
// not name it as whole.
func (b *batches) member(seq int64, of layout.Batch, first int64, cut bool) {
	var own *members
	for _, m := range b.open {
		if m.batch == of {
			own = m
		} else {
			m.dead = true
		}
	}
	if own == nil {
		// An item before it, from the first number of the atomic write on, is not a member:
		// otherwise the atomic write would be open.
		own = &members{batch: of, dead: cut || b.taken >= first, unreadable: b.unreadable >= first}
		b.open = append(b.open, own)
	}
	own.add(seq)
	b.taken = seq
}

// batchesOver reports the ended atomic writes that are not whole.
func (k *check) batchesOver(ctx context.Context, over []*members) error {
	for _, m := range over {
		whole, err := k.isWhole(ctx, m)
		if err != nil {
			return err
		}
		if whole {
			if !k.Store.Shared() {
				if err := k.writtenBy(m.batch.WriterUUID, k.first(m.batch)); err != nil {
					return err
				}
			}
			continue
		}
		b := m.batch
		detail := fmt.Sprintf("the atomic write %d to %d by %s has only the members %s",
			b.Start, b.Last, b.WriterUUID, spans(m.there))
		f := Finding{Kind: IncompleteBatch, SequenceNr: b.Start, Detail: detail}
		switch {
		case m.unreadable:
			f.Detail += "; another may be the item that can't be read"
		case !m.dead:
			f.Detail += "; it may still become whole, until the next recovery"
		default:
			f.Detail += "; it can't become whole"
			f.Option, f.repair = RemoveIncomplete, func(ctx context.Context, mender *Mender) (bool, error) { return k.sealMembers(ctx, mender, m) }
		}
		if err := k.found(f); err != nil {
			return err
		}
	}
	return nil
}

// isWhole reports whether all members of an atomic write are stored. Members that were missing when
// their numbers were read may have been written since.
func (k *check) isWhole(ctx context.Context, of *members) (bool, error) {
	first := k.first(of.batch)
	switch {
	case of.dead:
		return false, nil
	case of.count == of.batch.Last-first+1:
		return true, nil
	case of.unreadable:
		return false, nil
	}
	there, err := k.Store.Members(ctx, &k.meter, k.pid, of.batch, first, of.batch.Last)
	if item := new(layout.ItemError); errors.As(err, &item) {
		return false, nil // it is not a member
	}
	return there, err
}

// sealMembers replaces the remaining members of a dead atomic write by seals.
func (k *check) sealMembers(ctx context.Context, mender *Mender, of *members) (bool, error) {
	// By an older low mark, a deletion that cuts a whole atomic write looks the same. The deletion
	// puts its low mark first, so a decision by a low mark that is read after the items is right.
	marks, err := k.Store.LowMark(ctx, mender.Meter, k.pid)
	if err != nil || !marks.Low.JudgesLike(k.marks.Low) {
		return false, err
	}
	changed := false
	for _, s := range of.there {
		for seq := s.first; seq <= s.last; seq++ {
			item, err := k.Store.Stored(ctx, mender.Meter, k.pid, seq)
			if err != nil {
				return changed, err
			}
			slot, err := k.Store.Keys.DecodeSlot(k.pid, seq/layout.PartitionSize, item)
			// It has changed since it was judged.
			if err != nil || slot.Event == nil || slot.Event.Batch != of.batch {
				continue
			}
			if err := mender.archive(Removed{k.pid, IncompleteBatch, seq, item}); err != nil {
				return changed, err
			}
			sealed, err := k.Store.ReplaceWithSeal(ctx, mender.Meter, k.pid, seq, item)
			if err != nil {
				return changed, err
			}
			changed = changed || sealed
		}
	}
	return changed, nil
}

// first returns the first number at which a member of an atomic write has to be stored: lower ones
// are below the low mark, or up to the tombstone of the deletion that cut it.
func (k *check) first(b layout.Batch) int64 {
	if b == k.cut.Cut() {
		return max(k.cut.SequenceNr+1, k.marks.Low.First())
	}
	return max(b.Start, k.marks.Low.First())
}

// spans formats spans of numbers, and shortens a long list.
func spans(all []span) string {
	const most = 10
	var parts []string
	for i, s := range all {
		if i == most {
			parts = append(parts, "…")
			break
		}
		if s.first == s.last {
			parts = append(parts, fmt.Sprint(s.first))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d-%d", s.first, s.last))
	}
	return strings.Join(parts, ",")
}
