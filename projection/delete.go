package projection

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// DeleteTo deletes all events of a writer's persistence id up to a sequence number, as
// [dynajournal.Writer.DeleteTo] does, but only after projections have handled them. The projections
// are named as group/projection. Handlers see events that are deleted too early only as a [Gap].
//
// DeleteTo waits as [WaitFor] does, and then until each projection has stored an offset of this
// life of the persistence id: after a purge, the offset from before does not count. It does not
// wait for a projection that leaves the persistence id out by [OnlyIDs]. Events that are appended
// while it waits are not deleted. End ctx to stop waiting; nothing is deleted then. A projection
// that is reset meanwhile, or that starts later, does not get the events.
//
// It costs 1 read unit for each projection, the cost of WaitFor, a read of one event for each
// projection, and the cost of the deletion.
//
// Errors before anything is deleted: a *dynajournal.ArgumentError, [ErrNoProjection] for a
// projection that has never run, [ErrOtherOffsets] for a projection of package sqlprojection (call
// sqlprojection.WaitFor and then Writer.DeleteTo), a *[StuckError] if the persistence id is stuck
// before that number, the cause of ctx, and errors of requests. The deletion can return the errors
// of Writer.DeleteTo.
func DeleteTo(
	ctx context.Context, journal *dynajournal.Journal, writer *dynajournal.Writer, sequenceNumber int64,
	projections ...string,
) (dynajournal.DeleteResult, error) {
	if writer == nil {
		return dynajournal.DeleteResult{}, engine.Argument("writer", nil, "it must be a writer of the journal")
	}
	pid := writer.PersistenceID()
	// No offset reaches a number after the last visible event: such a number is sealed, or belongs
	// to an atomic write that failed.
	visible, err := writer.Last(ctx)
	if err != nil {
		return dynajournal.DeleteResult{}, fmt.Errorf("delete events of %q: %w", pid, err)
	}
	last := min(sequenceNumber, visible)
	for _, name := range projections {
		if err := awaitLife(ctx, journal, name, pid, last); err != nil {
			return dynajournal.DeleteResult{}, fmt.Errorf("delete events of %q: %w", pid, err)
		}
	}
	// DeleteTo did not wait for events that were appended meanwhile.
	return writer.DeleteTo(ctx, last)
}

// awaitLife waits until a projection has handled the events of this life of a persistence id up to
// a number.
func awaitLife(ctx context.Context, journal *dynajournal.Journal, projection, pid string, number int64) error {
	if err := engine.CheckWait(journal, projection, number); err != nil {
		return err
	}
	found, err := engine.FindRegistered(ctx, journal, projection)
	if err != nil {
		return fmt.Errorf("projection %s: %w", projection, err)
	}
	if !found.Takes(pid) {
		return nil
	}
	for n := 0; ; n++ {
		if err := WaitFor(ctx, journal, projection, pid, number); err != nil {
			return err
		}
		done, err := handled(ctx, found, pid, number)
		if done || err != nil && !engine.Passes(err) {
			return err
		}
		if err := backoff.Wait(ctx, engine.WaitPauses.After(n)); err != nil {
			return fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		}
	}
}

// handled reports whether a projection has handled the events up to a number in the current life of
// a persistence id: see engine.Plan.
func handled(ctx context.Context, of *engine.Registered, pid string, number int64) (bool, error) {
	state, err := of.Table.Row(ctx, engine.RowKey(of.Table.JournalName, of.Projection, pid))
	if err != nil || state.Seq < number {
		return false, err
	}
	if state.Seq == 0 || number == 0 { // nothing is deleted then
		return true, nil
	}
	page, err := core.Of(of.Table.Journal).ReadPage(ctx, pid, state.Seq, 1)
	if err != nil {
		return false, err
	}
	steps := engine.Plan(state.Offset, state.Exists, page)
	return len(steps) == 0 || !steps[0].Purge, nil
}
