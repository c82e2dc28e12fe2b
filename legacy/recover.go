package legacy

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
)

// Recover replays the events of a persistence id to the handler, in order, each once, including
// events that are marked as deleted. Then it returns the Writer that continues after them. A nil
// handler replays nothing. An event whose writer did not put its mark is also replayed, and Recover
// puts the mark.
//
// If RecoverOptions.Snapshot is above the highest number, the writer continues after it, whether
// JournalLost is set or not.
//
// A persistence id can have two writers. Only one of them can write; the other gets
// [dynajournal.ErrWriterConflict] and must recover again. docs/formats.md describes how far each
// layout guarantees that.
//
// Recover stops at the first error of the handler, and returns it. Other errors:
// dynajournal.ErrInvalidArgument (also if RecoverOptions.Expect or Latest is set), ErrVersion (if
// After is above the highest number), ErrCorruptItem, ErrClosed, and request errors.
func (j *Journal) Recover(
	ctx context.Context, persistenceID string, opts dynajournal.RecoverOptions, handler func(Event) error,
) (*Writer, error) {
	window, err := recoverWindow(opts)
	if err != nil {
		return nil, err
	}
	if handler == nil {
		window.limit = 0
	}
	if err := j.config.checkID(persistenceID); err != nil {
		return nil, err
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return nil, err
	}
	defer op.End()
	w := &Writer{journal: j, pid: persistenceID, uuid: uuid.NewString()}
	w.turn.Open(persistenceID)
	highest, err := j.store.takeOver(ctx, &w.recovery, persistenceID, opts.Snapshot)
	if err == nil && opts.After > highest {
		err = &dynajournal.VersionError{PersistenceID: persistenceID, Expected: opts.After, Last: highest}
	}
	if err == nil {
		w.next = highest + 1
		window.to = min(window.to, highest)
		err = j.replay(ctx, op, &w.recovery, persistenceID, window, handler)
	}
	if err != nil {
		return nil, fmt.Errorf("recover %q: %w", persistenceID, j.withTable(err))
	}
	return w, nil
}

// recoverWindow returns the window of events that a recovery replays.
func recoverWindow(o dynajournal.RecoverOptions) (window, error) {
	for _, field := range []struct {
		name  string
		value int64
	}{{"After", o.After}, {"Snapshot", o.Snapshot}} {
		if field.value < 0 || field.value > dynajournal.MaxSequenceNumber {
			return window{}, &dynajournal.ArgumentError{
				Argument: "RecoverOptions." + field.name,
				Value:    field.value,
				Reason:   fmt.Sprintf("it must be from 0 to %d", dynajournal.MaxSequenceNumber),
			}
		}
	}
	switch {
	case o.After > 0 && o.Snapshot > 0 && o.After != o.Snapshot:
		return window{}, &dynajournal.ArgumentError{
			Argument: "RecoverOptions.After", Value: o.After, Reason: "it must be 0 or the same as Snapshot",
		}
	case o.Latest:
		return window{}, &dynajournal.ArgumentError{
			Argument: "RecoverOptions.Latest", Value: true, Reason: "the older layouts do not have it",
		}
	case o.Expect != nil:
		return window{}, &dynajournal.ArgumentError{
			Argument: "RecoverOptions.Expect", Value: *o.Expect, Reason: "the older layouts do not have it",
		}
	}
	from := max(o.After, o.Snapshot) + 1
	return newWindow("RecoverOptions", dynajournal.Range{From: from, To: o.To, Limit: o.Limit})
}
