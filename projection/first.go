package projection

import (
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// attrFirstWriter is the writer of the first event that a handler which runs at least once was
// called with. It is stored with the claim, and missing when an offset is stored: the writer of
// that says the same.
//
// A process that is killed before it stores the first offset leaves nothing else of the life of the
// persistence id whose events its handler has seen. If the persistence id is purged and used again
// before the next process goes on, the handler must be told.
const attrFirstWriter = "first_writer"

// notice sets the writer of the first event in a change that claims the row, if no offset is
// stored.
func (r *row) notice(steps []step, c *change) {
	if r.seq > 0 {
		return
	}
	for i := range steps {
		if e := steps[i].event; e != nil {
			r.first = e.Writer
			c.set[attrFirstWriter] = text(e.Writer)
			return
		}
	}
}

// purgedBefore reports whether a handler was called with events of an earlier life, and no offset
// was stored of it. Events below a low mark may be those, so it tells nothing then.
func (r *row) purgedBefore(steps []step, low int64) bool {
	if r.first == "" || r.seq > 0 || low > 1 || !safeguard.ProjectionFirstLife {
		return false
	}
	for i := range steps {
		if e := steps[i].event; e != nil {
			return e.Writer != r.first
		}
	}
	return false
}

// forget removes what notice has set, when a step is done.
func (r *row) forget(done int, c *change) {
	if r.first != "" && done > 0 {
		c.remove(attrFirstWriter)
		r.first = ""
	}
}
