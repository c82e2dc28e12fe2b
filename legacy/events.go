package legacy

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// Events reads the events of a persistence id in the order of their sequence numbers, each once,
// including events that are marked as deleted (see Event.Deleted). It skips numbers without an
// event. It needs no writer and does not interfere with one. A persistence id that was never
// written has no events, which is not an error.
//
// After an error the sequence ends. Reading stops when the loop ends. In the hash-key-only layouts
// it needs memory for up to Config.Journal.ReplayParallelism times Config.Journal.MaxBatchGet
// events, in the naive layouts for a page of 1 MB.
func (j *Journal) Events(ctx context.Context, persistenceID string, r dynajournal.Range) iter.Seq2[Event, error] {
	return j.ReadableEvents(ctx, persistenceID, r, nil)
}

// ReadableEvents is [Journal.Events] for a journal with items that can't be read. It calls corrupt
// for each event that can't be read, in order with the others, and continues with the next event.
// An error of corrupt ends the sequence.
func (j *Journal) ReadableEvents(
	ctx context.Context, persistenceID string, r dynajournal.Range, corrupt func(*ItemError) error,
) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := j.readEvents(ctx, persistenceID, r, corrupt, func(e Event) error {
			if !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield(Event{}, fmt.Errorf("read events of %q: %w", persistenceID, j.withTable(err)))
		}
	}
}

func (j *Journal) readEvents(
	ctx context.Context, pid string, r dynajournal.Range, corrupt func(*ItemError) error, emit func(Event) error,
) error {
	w, err := newWindow("Range", r)
	if err == nil {
		err = j.config.checkID(pid)
	}
	if err != nil {
		return err
	}
	if corrupt != nil {
		w.corrupt = corrupt
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	if w.limit == 0 || w.from > w.to {
		return nil
	}
	var m dynamo.Meter
	highest, err := j.store.highest(ctx, &m, pid)
	if err != nil {
		return err
	}
	w.to = min(w.to, highest)
	return j.replay(ctx, op, &m, pid, w, emit)
}

// errStop ends a read whose caller needs no more events.
var errStop = errors.New("enough was read")

// replay passes the events of a window to emit.
func (j *Journal) replay(
	ctx context.Context, op *lifetime.Operation, m *dynamo.Meter, pid string, w window, emit func(Event) error,
) error {
	if w.limit == 0 {
		return nil
	}
	left := w.limit
	err := j.store.items(ctx, m, pid, w.from, w.to, w.limit, func(seq int64, item dynamo.Attributes) error {
		e, isEvent, err := decode(pid, seq, keyText(item), item)
		switch {
		case err != nil:
			return op.Outside(func() error { return j.corrupt(err, w.corrupt) })
		case !isEvent:
			return nil
		}
		core.PartsOf(&e.Event).Registry = j.config.Journal.Serialization
		if j.config.Journal.DecodeEagerly {
			if _, err := e.Payload(ctx); err != nil {
				return err
			}
		}
		if err := op.Outside(func() error { return emit(e) }); err != nil {
			return err
		}
		if left--; left == 0 {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// corrupt passes the error for an event that can't be read to handle.
func (j *Journal) corrupt(err error, handle func(*ItemError) error) error {
	item, ok := errors.AsType[*ItemError](err)
	if !ok {
		return err
	}
	item.Table = j.config.Journal.JournalTable
	return handle(item)
}

// withTable adds the name of the table to an *ItemError.
func (j *Journal) withTable(err error) error {
	if item, ok := errors.AsType[*ItemError](err); ok {
		item.Table = j.config.Journal.JournalTable
	}
	return err
}
