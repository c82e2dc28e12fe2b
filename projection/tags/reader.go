package tags

import (
	"context"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// tagPage is the number of entries of a lane that are read at once, and then their events.
const tagPage = 100

// tagReader reads the events of a tag. It is used by one goroutine.
type tagReader struct {
	index *Index
	tag   string
	hash  string
	yield func(Event) bool
	// consistent reports whether all entries that were added before a read must be found.
	consistent bool
	// pars are the partition keys of the lanes. positions are the last entries that were read.
	pars      []string
	positions []int64
	// checked reports for each lane whether its first position is known to exist.
	checked []bool
	// last is the last yielded event of each persistence id.
	last map[string]tagRef
}

func (x *Index) newTagReader(
	tag string, from Offset, consistent bool, yield func(Event) bool,
) (*tagReader, error) {
	if tag == "" {
		return nil, engine.Argument("tag", tag, "it is empty")
	}
	r := &tagReader{
		index: x, tag: tag, hash: hashOf(tag), yield: yield, consistent: consistent, last: map[string]tagRef{},
		checked: make([]bool, x.header.lanes),
	}
	var err error
	if r.positions, err = x.positions(r.hash, from); err != nil {
		return nil, err
	}
	for lane, position := range r.positions {
		r.pars = append(r.pars, lanePar(tag, lane))
		r.checked[lane] = position == 0
	}
	return r, nil
}

// page reads a page of a lane, and yields its events. It returns the number of entries found, and
// whether there may be more.
func (r *tagReader) page(ctx context.Context, lane int) (int, bool, error) {
	entries, more, err := r.entries(ctx, lane)
	if err != nil {
		return 0, false, err
	}
	stored, err := r.read(ctx, entries)
	if err != nil {
		return 0, false, err
	}
	for _, e := range entries {
		if err := r.pass(ctx, lane, e, stored); err != nil {
			return 0, false, err
		}
		r.positions[lane] = e.num
	}
	return len(entries), more, nil
}

// entries reads the entries of a lane after its position, up to the first missing number. A read of
// several items is not a snapshot: it can show an entry without an earlier one that existed before.
// A consistent read that starts later shows both.
func (r *tagReader) entries(ctx context.Context, lane int) ([]tagEntry, bool, error) {
	from := r.positions[lane] + 1
	if !r.checked[lane] {
		from-- // the entry at the offset has to be there
	}
	for again := false; ; again = true {
		page, err := r.index.query(ctx, laneQuery(r.pars[lane], from, r.consistent || again))
		if err != nil {
			return nil, false, err
		}
		whole := withoutGap(page.entries, from)
		more := page.more || len(whole) < len(page.entries)
		switch {
		case len(whole) > 0 && !r.checked[lane]:
			r.checked[lane] = true
			return whole[1:], more, nil
		case len(whole) > 0, len(page.entries) == 0 && r.checked[lane]:
			return whole, more, nil
		case again && !r.checked[lane]:
			return nil, false, engine.Argument("offset", r.offset().text, "it is after the end of the index")
		case again:
			return nil, false, &dynajournal.ItemError{
				Table: r.index.table, Par: r.pars[lane], Num: from, Attribute: attrNum,
				Err: fmt.Errorf("entry %d is missing", from), //nolint:err113 // an ErrCorruptItem by its type
			}
		}
	}
}

// withoutGap returns the entries before the first missing number.
func withoutGap(entries []tagEntry, from int64) []tagEntry {
	for i := range entries {
		if entries[i].num != from+int64(i) {
			return entries[:i]
		}
	}
	return entries
}

// read reads the events of entries. Where an entry may be a repeat, it also reads the last event of
// the persistence id.
func (r *tagReader) read(ctx context.Context, entries []tagEntry) (map[tagRef]core.StoredEvent, error) {
	var refs []tagRef
	for _, e := range entries {
		if e.pid == "" {
			continue
		}
		refs = append(refs, e.tagRef)
		if last, ok := r.last[e.pid]; ok && e.seq <= last.seq {
			refs = append(refs, last)
		}
	}
	return r.index.read(ctx, refs)
}

// pass yields the event of an entry if it exists, has the tag, and was not yielded before.
func (r *tagReader) pass(
	ctx context.Context, lane int, e tagEntry, stored map[tagRef]core.StoredEvent,
) error {
	event, ok := stored[e.tagRef]
	if e.pid == "" || !ok || !slices.Contains(event.Tags, r.tag) {
		return nil
	}
	last, known := r.last[e.pid]
	// If the last event is gone, the persistence id was purged, and this event is of its next life.
	if _, exists := stored[last]; known && exists && e.seq <= last.seq {
		return nil
	}
	var events []dynajournal.Event
	err := core.DeliverEvents(ctx, r.index.journal, &event, func(event dynajournal.Event) error {
		events = append(events, event)
		return nil
	})
	if err != nil {
		return err
	}
	before := r.offset()
	r.positions[lane], r.last[e.pid] = e.num, e.tagRef
	for i := range events {
		offset := before
		if i == len(events)-1 {
			offset = r.offset()
		}
		if !r.yield(Event{events[i], offset}) {
			return errLeft
		}
	}
	return nil
}

// offset returns the offset after the entries that were read.
func (r *tagReader) offset() Offset { return newTagOffset(r.index.header.id, r.hash, r.positions) }
