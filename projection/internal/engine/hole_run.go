package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// undecidedError reports that a run waits for missing numbers. left is the time until the next
// check.
type undecidedError struct{ left time.Duration }

func (e *undecidedError) Error() string {
	return fmt.Sprintf("sequence numbers are missing before an event: waiting for at least %v", e.left)
}

// storedParts divides Config.HoleWait: after each part a run that waits reads the journal again,
// and stores how long it has waited.
const storedParts = 6

// stillMissing returns an *undecidedError while the number is missing at which the last run of the
// task stopped. Checking it costs less than reading the journal, and the trigger is not done either
// way.
func (r *Run) stillMissing(ctx context.Context) error {
	first, left := r.Group.holes.waitsFor(taskKey{name: r.Of.Name, pid: r.Pid})
	if left <= 0 {
		return nil
	}
	stored, err := core.Of(r.Group.Journal).StoredAt(ctx, r.Pid, core.Span{First: first, Last: first})
	if err != nil || len(stored) > 0 {
		return nil //nolint:nilerr // reading the journal meets the same error, and handles it
	}
	return &undecidedError{left}
}

// waitForHoles stores the holes that a run waits for, and ends the run as undecided. It also
// releases a claim that the run may take over.
func (r *Run) waitForHoles(ctx context.Context, state *Row, open []hole) error {
	wait := r.Group.Config.HoleWait
	left := max(wait/storedParts, 1)
	for i := range open {
		open[i].at = r.Group.Now()
	}
	c := Change{Set: dynamo.Attributes{attrHoles: encodeHoles(open)}}
	r.giveBack(&c)
	changed := state.Claim != "" && !r.paying
	for i := range open {
		h := &open[i]
		if h.age < wait {
			left = min(left, wait-h.age)
		}
		known := slices.ContainsFunc(state.holes, func(s hole) bool {
			return s.covers(h) && h.age-s.age < wait/storedParts
		})
		changed = changed || !known
	}
	if changed {
		if err := r.Group.Table.Update(ctx, r.Key, c, state.Unchanged().And(state.SameClaim())); err != nil {
			return err
		}
	}
	r.Group.holes.wait(taskKey{name: r.Of.Name, pid: r.Pid}, open[0].First, left)
	return &undecidedError{left}
}

// notePassed logs and counts the holes that a run passes, once in this process.
func (r *Run) notePassed(ctx context.Context, open, passed []hole) {
	for _, h := range r.Group.holes.see(taskKey{name: r.Of.Name, pid: r.Pid}, open, passed) {
		r.Group.Config.Logger.LogAttrs(ctx, slog.LevelWarn,
			"a projection passes sequence numbers at which a JVM has stored nothing",
			slog.String("event", "projection.numbers_passed"), slog.String("projection", r.Of.Name), slog.String("persistence_id", r.Pid),
			slog.Int64("first", h.First), slog.Int64("last", h.Last), slog.Duration("missing_for", h.age))
	}
}

// mostPassed is how many passed holes a row retains, to find events that are stored later. Each
// hole costs a request, and half a read unit or one, whenever the persistence id is read.
const mostPassed = 10

// remember returns the passed holes that a row retains at an offset.
func (r *Run) remember(to Offset) []hole {
	if to.Seq == 0 {
		return nil // the numbers start again
	}
	var left []hole
	for _, h := range slices.Concat(r.state.passed, r.passed) {
		h.First = max(h.First, h.Last-dynajournal.LiveWindow+1)
		if h.Last < to.Seq && to.Seq-h.Last < dynajournal.LiveWindow {
			left = append(left, hole{Span: h.Span})
		}
	}
	return left[max(len(left)-mostPassed, 0):]
}

// Moved returns the change that moves the row to an offset. It includes the passed holes, and
// removes what belongs to the offset before.
func (r *Run) Moved(to Offset) Change {
	c := Moved(to)
	if left := r.remember(to); len(left) > 0 {
		c.Set[attrPassed] = encodeHoles(left)
	} else if len(r.state.passed) > 0 {
		c.Removed = append(c.Removed, attrPassed)
	}
	if len(r.state.holes) > 0 {
		c.Removed = append(c.Removed, attrHoles)
	}
	if r.state.Attempts > 0 && to != r.state.Offset {
		c.remove(attrAttempts)
	}
	if r.state.first != "" && to != r.state.Offset {
		c.remove(attrFirstWriter)
	}
	return c
}

// findLate finds events at numbers that the projection has passed, from the low mark on. It logs
// and counts them. They are never handled, because events after them were.
func (r *Run) findLate(ctx context.Context, state *Row, low int64) error {
	var left []hole
	found := int64(0)
	for _, h := range state.passed {
		if h.First = max(h.First, low); h.First > h.Last {
			continue
		}
		stored, err := core.Of(r.Group.Journal).StoredAt(ctx, r.Pid, h.Span)
		if err != nil {
			return err
		}
		for seq := h.First; seq <= h.Last; seq++ {
			if !stored[seq] {
				left = append(left, hole{Span: core.Span{First: seq, Last: seq}})
				continue
			}
			found++
			r.Group.Config.Logger.LogAttrs(ctx, slog.LevelError,
				"an event was stored too late for a projection, which has passed its number: it is not handled",
				slog.String("event", "projection.event_late"), slog.String("projection", r.Of.Name), slog.String("persistence_id", r.Pid),
				slog.Int64("sequence_number", seq), slog.Int64("offset", state.Seq))
		}
	}
	if found == 0 {
		return nil
	}
	c := Change{Removed: []string{attrPassed}}
	if left = joined(left); len(left) > 0 {
		c = Change{Set: dynamo.Attributes{attrPassed: encodeHoles(left)}}
	}
	if err := r.Group.Table.Update(ctx, r.Key, c, state.Unchanged().And(state.SameClaim())); err != nil {
		return err
	}
	state.passed = left
	r.Group.holes.addLate(r.Of.Name, found)
	return nil
}

// joined joins adjacent holes.
func joined(holes []hole) []hole {
	var all []hole
	for _, h := range holes {
		if n := len(all); n > 0 && all[n-1].Last == h.First-1 {
			all[n-1].Last = h.Last
			continue
		}
		all = append(all, h)
	}
	return all
}
