package projection

import (
	"context"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/internal/core"
)

// filter says what a projection takes. The zero value takes everything.
type filter struct {
	// filtered, tagged and typed report whether prefixes, tags and types count.
	filtered, tagged, typed bool
	// anyTag reports whether an event needs a tag, whichever it is.
	anyTag                bool
	prefixes, tags, types []string
}

// check returns an *ArgumentError if the projection would take nothing, or an empty text.
func (f *filter) check(name string) error {
	for _, option := range []struct {
		name    string
		given   bool
		allowed []string
	}{
		{"OnlyIDs", f.filtered, f.prefixes}, {"OnlyTags", f.tagged, f.tags}, {"OnlyTypes", f.typed, f.types},
	} {
		switch {
		case option.given && len(option.allowed) == 0:
			return argument(option.name+" of projection "+name, nil, "it lists nothing")
		case slices.Contains(option.allowed, ""):
			return argument(option.name+" of projection "+name, "", "it is empty")
		}
	}
	return nil
}

// takes reports whether the projection takes a persistence id.
func (f *filter) takes(pid string) bool {
	return !f.filtered || slices.ContainsFunc(f.prefixes, func(prefix string) bool {
		return strings.HasPrefix(pid, prefix)
	})
}

// ids names the persistence ids that the projection takes.
func (f *filter) ids() string {
	sorted := slices.Sorted(slices.Values(f.prefixes))
	return strings.Join(slices.Compact(sorted), "\x01")
}

// takesEvent reports whether the projection takes an event of a persistence id that it takes.
func (f *filter) takesEvent(e *core.StoredEvent) bool {
	tagged := !f.tagged || slices.ContainsFunc(e.Tags, func(tag string) bool { return slices.Contains(f.tags, tag) })
	typed := !f.typed || slices.Contains(f.types, e.SerializerManifest) || slices.Contains(f.types, e.Manifest)
	return tagged && typed && (!f.anyTag || len(e.Tags) > 0)
}

// leaveOut makes events that are left out part of the step before them, so that they cost no write.
// The offset of that step is the one behind them. Those before the first event, or behind a gap,
// are a step of their own.
func (f *filter) leaveOut(steps []step) []step {
	if !f.tagged && !f.typed && !f.anyTag {
		return steps
	}
	var kept []step
	for i := range steps {
		s := &steps[i]
		last := len(kept) - 1
		switch {
		case s.event == nil || f.takesEvent(s.event):
			if last >= 0 && kept[last].leftOut {
				kept = kept[:last] // this step moves the offset over them
			}
			kept = append(kept, *s)
		case last >= 0 && (kept[last].event != nil || kept[last].leftOut):
			kept[last].to = s.to
		default:
			kept = append(kept, step{to: s.to, leftOut: true})
		}
	}
	return kept
}

// passesOver reports whether steps have only events that the projection leaves out, and the row has
// the offset. Then no effect is applied.
func (of *member) passesOver(steps []step) bool {
	return of.offsets.inRows() && len(steps) == 1 && steps[0].leftOut
}

// passOver stores the offset behind events that are all left out: 1 write. No handler is called, so
// that it needs no claim. If another run has claimed the row meanwhile, nothing is stored.
func (r *run) passOver(ctx context.Context, state *row, steps []step) (bool, error) {
	c := r.moved(steps[0].to)
	c.removed = append(c.removed, attrClaim)
	err := r.group.table.update(ctx, r.key, c, state.unchanged().and(state.sameClaim()))
	if err == nil {
		r.keep(state.at(steps[0].to))
	}
	return true, err
}
