package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Skipped is what a projection has passed over.
type Skipped struct {
	// First and Last are the first and the last sequence number: of one event, or of a gap. If a
	// purge was passed over, both are its Last: see [projection.Purge].
	First, Last int64
	// Purge reports whether it is a purge.
	Purge bool
}

// Skip makes the projection pass over what its handler fails at: the event that follows the offset
// of a stuck persistence id, or a gap or a purge there. In the same write it does what
// [Operator.Retry] does. The event is never handled.
//
// The number sequenceNumber is the last one to be passed over: that of StuckID. If something else
// follows, the error is a *[SkipError], which has the right number, and nothing is
// changed. So a call that is repeated passes over nothing twice. With [AnyNumber], whatever follows
// is passed over.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [projection.ErrUnsupported]
// of a projection of package sqlprojection, [ErrNoIndex], [ErrNotStuck], [ErrClaimed], a
// *[SkipError], an item that can't be read ([dynajournal.ErrCorruptItem]: repair the journal) or is
// missing ([dynajournal.ErrEventMissing]: restore it, or repair the journal with
// VerifyOptions.SealMissing), and those of requests.
func (o *Operator) Skip(ctx context.Context, persistenceID string, sequenceNumber int64) (Skipped, error) {
	skipped, err := o.skip(ctx, persistenceID, sequenceNumber)
	if err != nil {
		return Skipped{}, fmt.Errorf("skip at %q of projection %s: %w", persistenceID, o.projection, err)
	}
	return skipped, nil
}

// AnyNumber is the number of [Operator.Skip] for whatever follows.
const AnyNumber = -1

// SkipError reports that something else follows than what was to be passed over.
type SkipError struct {
	// Want is the number that was to be passed over, Next what follows.
	Want int64
	Next Skipped
}

func (e *SkipError) Error() string {
	if e.Next.Purge {
		return fmt.Sprintf("the purge up to %d follows, and not %d", e.Next.Last, e.Want)
	}
	return fmt.Sprintf("%d follows, and not %d", e.Next.Last, e.Want)
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
		seq = skipped.Last // it may have been passed over, and the response was lost
	}
}

// skip moves the offset to the next step, under the condition that the row is stuck and as it was
// read.
func (o *operated) skip(
	ctx context.Context, journal *dynajournal.Journal, pid string, seq int64,
) (Skipped, error) {
	state, key, err := o.Row(ctx, pid)
	switch {
	case err != nil:
		return Skipped{}, err
	case state.Begun && state.Seq == seq && state.Debt.Owed && !state.Stuck():
		// An earlier call has passed over it.
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
		return Skipped{}, fmt.Errorf("no event follows %d: retry it: %w", state.Seq, ErrNotStuck)
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
		return engine.Offset{}, fmt.Errorf("event %d is no longer there: retry it: %w", seq, ErrNotStuck)
	}
	return engine.Offset{Seq: seq, Writer: page.Events[0].Writer}, nil
}
