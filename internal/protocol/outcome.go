package protocol

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// finish determines the outcome of the write from the outcomes of all puts, and ends the writer if
// necessary.
func (a *AtomicWrite) finish(ctx context.Context) error {
	w := a.writer
	results := a.members.Outcomes()
	a.resolveConflicts(ctx, results)
	if err := a.checkHandoverAfter(ctx); err != nil {
		w.End(err)
		return err
	}
	written := 0
	var failed, unknown error
	for _, err := range results {
		if conflict, ok := errors.AsType[*ConflictError](err); ok {
			a.sealParts(ctx, results)
			w.End(conflict)
			return conflict
		}
		switch {
		case err == nil:
			written++
		case maybeApplied(err):
			unknown = err
		default:
			failed = err
		}
	}
	if a.mark != nil && a.mark.err != nil {
		if maybeApplied(a.mark.err) {
			unknown = a.mark.err
		} else {
			failed = a.mark.err
		}
	}
	if unknown == nil && failed == nil {
		// The response brings the service's time: if the wall clock was set back, the check before
		// the attempt has missed a sleep.
		unknown = a.checkAge(w.journal.Clock.Now())
	}
	switch {
	case unknown == nil && failed == nil:
		return nil
	case unknown != nil:
		if _, ok := errors.AsType[*OutcomeUnknownError](unknown); !ok {
			unknown = a.unknown(unknown)
		}
		w.End(unknown)
		return unknown
	// All but the high mark is stored: the events exist, but are not acknowledged.
	case written == len(a.items):
		failed = a.unknown(failed)
		w.End(failed)
		return failed
	}
	if written == 0 && errors.Is(failed, ErrTooLate) {
		return errReread
	}
	failed = fmt.Errorf("append to %q at sequence number %d: %w", w.pid, a.first(), failed)
	// No reader will ever see these members, but their numbers are taken.
	if written > 0 {
		w.End(failed)
	}
	return failed
}

// resolveConflicts decides on the members whose condition has failed, by the items that are stored
// there. If the item is the member itself, put by an earlier attempt whose response was lost, the
// put has succeeded. Any other item is a *ConflictError.
func (a *AtomicWrite) resolveConflicts(ctx context.Context, results []error) {
	w := a.writer
	var old map[int64]layout.Attributes
	for i, err := range results {
		if errors.Is(err, dynamo.ErrConditionFailed) {
			if old == nil {
				old = map[int64]layout.Attributes{}
			}
			old[a.events[i].SequenceNr] = dynamo.OldItem(err)
		}
	}
	if old == nil {
		return
	}
	ctx, end := w.journal.Life.ReadForWrite(ctx)
	defer end()
	slots, err := w.journal.Store.MetSlots(ctx, a.meter, w.pid, old)
	for i, e := range a.events {
		if _, met := old[e.SequenceNr]; !met {
			continue
		}
		switch slot := slots[e.SequenceNr]; {
		case err != nil:
			results[i] = a.unknown(err)
		case layout.SameEvent(slot, e):
			results[i] = nil
		case slot.Event == nil && dynamo.MaybeApplied(results[i]):
			// An earlier attempt may have written it, and another writer may have deleted it since.
			results[i] = a.unknown(results[i])
		default:
			results[i] = w.conflict(slot)
		}
	}
}

// sealParts replaces the members of a refused atomic write that are stored, or may be, by seals. No
// reader shows these members, because the write can't become whole. But if a JVM deletes a part of
// an atomic write, the rest counts if its last member is stored, because the JVM's low mark does
// not name the atomic write that it cuts. And verify could not distinguish these members from an
// atomic write that has lost a member. A member that can't be sealed stays as it is.
func (a *AtomicWrite) sealParts(ctx context.Context, results []error) {
	w := a.writer
	if len(a.items) == 1 {
		return
	}
	ctx, end := w.journal.Life.ReadForWrite(ctx)
	defer end()
	store := w.journal.Store.While(w.journal.freshFromNow())
	var puts errgroup.Group // a put that fails does not cancel the others
	puts.SetLimit(store.Parallelism)
	for i, err := range results {
		if err != nil && !maybeApplied(err) {
			continue
		}
		puts.Go(func() error {
			_, err := store.ReplaceWithSeal(ctx, a.meter, w.pid, a.events[i].SequenceNr, a.items[i])
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		w.journal.Logger.WarnContext(ctx, "could not seal all members of a refused atomic write",
			"event", "journal.seals_missing", "persistence_id", w.pid, "first", a.first(), "last", a.last(), "error", err)
	}
}

func maybeApplied(err error) bool {
	return dynamo.MaybeApplied(err) || errors.Is(err, ErrOutcomeUnknown)
}

func (a *AtomicWrite) unknown(cause error) error {
	return &OutcomeUnknownError{a.writer.pid, a.first(), a.last(), cause}
}
