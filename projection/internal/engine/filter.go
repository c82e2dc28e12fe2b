package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Filter selects the persistence ids and events that a projection takes. The zero value takes
// everything.
type Filter struct {
	// Filtered, Tagged and Typed report whether Prefixes, Tags and Types apply.
	Filtered, Tagged, Typed bool
	// AnyTag reports whether an event needs at least one tag, with any name.
	AnyTag                bool
	Prefixes, Tags, Types []string
}

// check returns an *ArgumentError if an option lists nothing, or an empty text.
func (f *Filter) check(name string) error {
	for _, option := range []struct {
		name    string
		given   bool
		allowed []string
	}{
		{"OnlyIDs", f.Filtered, f.Prefixes}, {"OnlyTags", f.Tagged, f.Tags}, {"OnlyTypes", f.Typed, f.Types},
	} {
		switch {
		case option.given && len(option.allowed) == 0:
			return Argument(option.name+" of projection "+name, nil, "it lists nothing")
		case slices.Contains(option.allowed, ""):
			return Argument(option.name+" of projection "+name, "", "it is empty")
		}
	}
	return nil
}

// Takes reports whether the projection takes a persistence id.
func (f *Filter) Takes(pid string) bool {
	return !f.Filtered || slices.ContainsFunc(f.Prefixes, func(prefix string) bool {
		return strings.HasPrefix(pid, prefix)
	})
}

// ids returns the prefixes as one text, sorted and without duplicates.
func (f *Filter) ids() string {
	sorted := slices.Sorted(slices.Values(f.Prefixes))
	return strings.Join(slices.Compact(sorted), "\x01")
}

// takesEvent reports whether the projection takes an event of a persistence id that it takes.
func (f *Filter) takesEvent(e *core.StoredEvent) bool {
	tagged := !f.Tagged || slices.ContainsFunc(e.Tags, func(tag string) bool { return slices.Contains(f.Tags, tag) })
	typed := !f.Typed || slices.Contains(f.Types, e.SerializerManifest) || slices.Contains(f.Types, e.Manifest)
	return tagged && typed && (!f.AnyTag || len(e.Tags) > 0)
}

// LeaveOut merges events that the projection leaves out into the step before them, so that they
// cost no write: the offset of that step is then after them. Left-out events before the first event
// that is taken, or after a gap, are a step of their own if no step follows.
func (f *Filter) LeaveOut(steps []Step) []Step {
	if !f.Tagged && !f.Typed && !f.AnyTag {
		return steps
	}
	var selected []Step
	for i := range steps {
		s := &steps[i]
		last := len(selected) - 1
		switch {
		case s.Event == nil || f.takesEvent(s.Event):
			if last >= 0 && selected[last].LeftOut {
				selected = selected[:last] // this step moves the offset over them
			}
			selected = append(selected, *s)
		case last >= 0 && (selected[last].Event != nil || selected[last].LeftOut):
			selected[last].To = s.To
		default:
			selected = append(selected, Step{To: s.To, LeftOut: true})
		}
	}
	return selected
}

// PassesOver reports whether steps have only events that the projection leaves out, and the offset
// is in the row. Then no effect is applied.
func (of *Member) PassesOver(steps []Step) bool {
	return of.Offsets.InRows() && len(steps) == 1 && steps[0].LeftOut
}

// passOver stores the offset after events that are all left out, with 1 write. It calls no handler,
// so it needs no claim. If another run has claimed the row meanwhile, it stores nothing.
func (r *Run) passOver(ctx context.Context, state *Row, steps []Step) (bool, error) {
	c := r.Moved(steps[0].To)
	r.giveBack(&c)
	err := r.Group.Table.Update(ctx, r.Key, c, state.Unchanged().And(state.SameClaim()))
	if err == nil {
		r.Cache(state.At(steps[0].To))
	}
	return true, err
}
