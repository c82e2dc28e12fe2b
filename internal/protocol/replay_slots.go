package protocol

import (
	"slices"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// readSlot is a slot with the stamp of its read.
type readSlot struct {
	layout.Slot
	at int64
	// hole reports that nothing is stored there.
	hole bool
}

// slotQueue has the slots that were read but not decided on, in ascending order.
type slotQueue struct {
	waiting []readSlot
	page    []readSlot // the storage of waiting, reused for each page
	read    int64      // the stamp of the last page that was read
}

// reuse frees the storage of the last page. Its events must not stay in memory while the next page
// is in flight.
func (q *slotQueue) reuse() {
	clear(q.page)
	q.waiting = q.page[:0]
}

// add adds the slots of a page with the stamp of its read.
func (q *slotQueue) add(slots []layout.Slot, read int64) {
	q.waiting = slices.Grow(q.waiting, len(slots))
	for _, s := range slots {
		q.waiting = append(q.waiting, readSlot{Slot: s, at: read})
	}
	q.page = q.waiting
}

// pop takes the first slot. There must be one.
func (q *slotQueue) pop() readSlot {
	slot := q.waiting[0]
	q.waiting = q.waiting[1:]
	return slot
}
