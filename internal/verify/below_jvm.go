package verify

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// itemBelow is an item that is stored below the low mark that a JVM reads, in the block of the
// highest number.
type itemBelow struct {
	seq   int64
	event bool
	item  layout.Attributes
}

// belowJVM records an item that a JVM no longer removes, in the block of its highest number: when
// it has removed all others of the block, it continues after this one.
func (k *check) belowJVM(s layout.Slot, item layout.Attributes) {
	if k.Store.Shared() && k.legible && s.SequenceNr < k.marks.JVMLow &&
		s.SequenceNr >= layout.HighestBlock(k.highest) {
		k.left = append(k.left, itemBelow{s.SequenceNr, s.Event != nil, item})
	}
}

// leftBelowJVM reports the items that belowJVM has recorded.
func (k *check) leftBelowJVM() error {
	if len(k.left) == 0 {
		return nil
	}
	var numbers []span
	events := false
	for _, b := range k.left {
		numbers = append(numbers, span{b.seq, b.seq})
		events = events || b.event
	}
	left := k.left
	f := Finding{Kind: BelowJVMLowMark, SequenceNr: left[0].seq, Option: RemoveDeleted}
	f.Detail = fmt.Sprintf("items are stored at %s, below the low mark %d that a JVM reads, in the block of the highest number %d: "+
		"after its next deletion of everything a JVM uses numbers again", spans(merged(numbers)), k.marks.JVMLow,
		k.highest)
	if events {
		f.Option = ""
		f.Detail += "; an event is among them: see the finding about it first"
	} else {
		f.repair = func(ctx context.Context, m *Mender) (bool, error) { return k.removeBelowJVM(ctx, m, left) }
	}
	return k.found(f)
}

// removeBelowJVM removes items, the highest last: until the highest is gone a JVM finds the same
// highest number as before, and afterwards its low mark. It stops at an item that has changed.
func (k *check) removeBelowJVM(ctx context.Context, m *Mender, left []itemBelow) (bool, error) {
	changed := false
	for _, b := range left {
		if err := m.archive(Removed{k.pid, BelowJVMLowMark, b.seq, b.item}); err != nil {
			return changed, err
		}
		removed, err := k.Store.RemoveUnchanged(ctx, m.Meter, k.pid, b.seq, b.item)
		if err != nil || !removed {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// merged joins adjacent spans.
func merged(numbers []span) []span {
	joined := numbers[:1]
	for _, n := range numbers[1:] {
		if last := &joined[len(joined)-1]; last.last+1 == n.first {
			last.last = n.last
		} else {
			joined = append(joined, n)
		}
	}
	return joined
}
