package engine

import (
	"slices"
)

// attrFirstWriter is the writer of the first event that there was when a handler which runs at
// least once was first called. It is stored with the claim, and missing when an offset is stored:
// the writer of that says the same.
//
// It is for purges that leave no low mark: with PurgeOptions.Now, and in a shared journal. A
// process that is killed before it stores the first offset leaves nothing else of the events that
// its handler has seen. If the persistence id is erased and used again before the next process
// starts, the handler must be told.
//
// It is that of an event which the projection may leave out, so that it says the same when the
// filter has changed.
const attrFirstWriter = "first_writer"

// opening returns the writer of the first event of steps of which none is left out yet, empty if
// they have none.
func opening(steps []Step) string {
	for i := range steps {
		if e := steps[i].Event; e != nil {
			return e.Writer
		}
	}
	return ""
}

// notice sets the writer of the first event in a change that claims the row, if no offset is
// stored.
func (r *Row) notice(opening string, c *Change) {
	if r.Seq > 0 || opening == "" {
		return
	}
	r.first = opening
	c.Set[attrFirstWriter] = Text(opening)
}

// purgedBefore reports whether a handler was called with events that were erased, and no offset of
// them was stored: none of the events is of that writer. Events below a low mark may be, so nothing
// is known then.
func (r *Row) purgedBefore(steps []Step, low int64) bool {
	if r.first == "" || r.Seq > 0 || low > 1 {
		return false
	}
	life := func(s Step) bool { return s.Event != nil && s.Event.Writer == r.first }
	return opening(steps) != "" && !slices.ContainsFunc(steps, life)
}

// forget removes what notice has set, when a step is done.
func (r *Row) forget(done int, c *Change) {
	if r.first != "" && done > 0 {
		c.remove(attrFirstWriter)
		r.first = ""
	}
}
