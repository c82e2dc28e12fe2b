package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Skipped is the event, gap or purge that a projection has skipped.
type Skipped struct {
	// First and Last are the first and the last sequence number of the event or the gap. For a
	// purge, both are its Last: see [projection.Purge].
	First, Last int64
	// Purge reports whether a purge was skipped.
	Purge bool
}

// Skip makes the projection skip the step at which its handler fails: the event after the offset of
// a stuck persistence id, or a gap or a purge there. The same write does what [Operator.Retry]
// does. The event is never handled.
//
// The argument sequenceNumber is the last number to be skipped: [StuckID].SequenceNumber. If
// something else follows the offset, nothing is changed, and the error is a *[SkipError] with the
// right number. So a repeated call skips nothing twice. With [AnyNumber], Skip skips whatever
// follows.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [projection.ErrUnsupported]
// for a projection of package sqlprojection, [ErrNoIndex], [ErrNotStuck], [ErrClaimed], a
// *[SkipError], an item that can't be read ([dynajournal.ErrCorruptItem]: repair the journal) or is
// missing ([dynajournal.ErrEventMissing]: restore it, or repair the journal with
// VerifyOptions.SealMissing), and errors of requests.
func (o *Operator) Skip(ctx context.Context, persistenceID string, sequenceNumber int64) (Skipped, error) {
	skipped, err := o.skip(ctx, persistenceID, sequenceNumber)
	if err != nil {
		return Skipped{}, fmt.Errorf("skip at %q of projection %s: %w", persistenceID, o.projection, err)
	}
	return skipped, nil
}

// AnyNumber makes [Operator.Skip] skip whatever follows the offset.
const AnyNumber = -1

// SkipError reports that Skip found another number than the one to be skipped.
type SkipError struct {
	// Want is the number that was to be skipped. Next is the event, gap or purge that follows the
	// offset.
	Want int64
	Next Skipped
}

func (e *SkipError) Error() string {
	if e.Next.Purge {
		return fmt.Sprintf("the purge up to %d is next, not %d", e.Next.Last, e.Want)
	}
	return fmt.Sprintf("%d is next, not %d", e.Next.Last, e.Want)
}

func (o *Operator) skip(ctx context.Context, pid string, seq int64) (Skipped, error) {
	p, err := o.find(ctx)
	if err == nil {
		err = engine.CheckID(pid)
	}
	if err == nil && seq < AnyNumber {
		err = engine.Argument("sequenceNumber", seq, "it must be the number of StuckID, or AnyNumber")
	}
	if err == nil {
		err = p.StoresRows()
	}
	if err == nil {
		err = p.payable(ctx)
	}
	if err != nil {
		return Skipped{}, err
	}
	for again := 0; ; again++ {
		skipped, err := p.skip(ctx, o.journal, pid, seq)
		if !errors.Is(err, engine.ErrAgain) || again == engine.MostAgain {
			return skipped, err
		}
		seq = skipped.Last // it may have been skipped, and the response was lost
	}
}

// skip moves the offset past the next step, on condition that the row is stuck and has not changed
// since it was read.
func (o *operated) skip(
	ctx context.Context, journal *dynajournal.Journal, pid string, seq int64,
) (Skipped, error) {
	state, key, err := o.Row(ctx, pid)
	switch {
	case err != nil:
		return Skipped{}, err
	case state.Started && state.Seq == seq && state.Debt.Exists && !state.Stuck():
		// An earlier call has skipped it.
		return Skipped{First: seq, Last: seq}, nil
	case !state.Stuck():
		return Skipped{}, ErrNotStuck
	case state.Claim != "":
		return Skipped{}, ErrClaimed
	}
	const both = 2 // the event at the offset, and the next
	page, err := core.Of(journal).ReadPage(ctx, pid, max(state.Seq, 1), both)
	if err != nil {
		return Skipped{}, err
	}
	steps := engine.Plan(state.Offset, state.Exists, page)
	if len(steps) == 0 {
		return Skipped{}, fmt.Errorf("no event follows %d; retry the persistence id: %w", state.Seq, ErrNotStuck)
	}
	next := steps[0]
	if next.Event != nil && state.Failed > next.To.Seq { // a filter leaves out the rest
		if next.To, err = o.at(ctx, journal, pid, state.Failed); err != nil {
			return Skipped{}, err
		}
	}
	skipped := Skipped{next.To.Seq, next.To.Seq, next.Purge}
	if next.Event == nil && !next.Purge {
		skipped.First = next.First
	}
	if seq != AnyNumber && seq != skipped.Last {
		return Skipped{}, &SkipError{seq, skipped}
	}
	return skipped, o.Table.Skip(ctx, key, &state, next.To)
}

// at returns the offset of an event.
func (o *operated) at(ctx context.Context, journal *dynajournal.Journal, pid string, seq int64) (engine.Offset, error) {
	page, err := core.Of(journal).ReadPage(ctx, pid, seq, 1)
	if err != nil {
		return engine.Offset{}, err
	}
	if len(page.Events) == 0 || page.Events[0].SequenceNumber != seq {
		return engine.Offset{}, fmt.Errorf("event %d no longer exists; retry the persistence id: %w", seq, ErrNotStuck)
	}
	return engine.Offset{Seq: seq, Writer: page.Events[0].Writer}, nil
}
