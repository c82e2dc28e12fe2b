package engine

import (
	"slices"
)

// attrFirstWriter is the writer of the first existing event when an at-least-once handler was first
// called. It is stored with the claim, and is removed when an offset is stored, because the offset
// also names a writer.
//
// It is for purges that leave no low mark: with PurgeOptions.Now, and in a shared journal. If a
// process is killed before it stores the first offset, nothing else shows which events its handler
// has seen. If the persistence id is then erased and used again before the next process starts, the
// handler must get the purge.
//
// The first event may be one that the projection leaves out, so that the attribute does not depend
// on the filter, which may change.
const attrFirstWriter = "first_writer"

// opening returns the writer of the first event of steps, before the filter has left out any. It is
// empty if the steps have no event.
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

// purgedBefore reports whether a handler was called with events that were erased before an offset
// was stored: no event in steps is of the first writer. Events below a low mark may be of that
// writer, so with a low mark it reports false.
func (r *Row) purgedBefore(steps []Step, low int64) bool {
	if r.first == "" || r.Seq > 0 || low > 1 {
		return false
	}
	life := func(s Step) bool { return s.Event != nil && s.Event.Writer == r.first }
	return opening(steps) != "" && !slices.ContainsFunc(steps, life)
}

// forget removes the first writer after a step is done.
func (r *Row) forget(done int, c *Change) {
	if r.first != "" && done > 0 {
		c.remove(attrFirstWriter)
		r.first = ""
	}
}
