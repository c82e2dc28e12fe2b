package entity

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/private"
)

// errWrongType: the journal holds an event of another type.
var errWrongType = errors.New("it is no event of the entity's type")

// replay applies stored events to a state.
type replay[S, E any] struct {
	entity *entity[S, E]
	found  *found[S]
	// frozen reports that the state belongs to others: Copy is due before the first event.
	frozen bool
	// observe, if set, is called with each event before it is applied.
	observe func(*dynajournal.Event)
}

// apply applies a stored event.
func (r *replay[S, E]) apply(ctx context.Context, event *dynajournal.Event) error {
	if r.observe != nil {
		r.observe(event)
	}
	if err := r.evolveBy(ctx, event); err != nil {
		return err
	}
	got := r.found
	got.events++
	got.at.version, got.author = event.SequenceNumber, event.WriterUUID
	if got.time = 0; !event.Time.IsZero() {
		got.time = event.Time.UnixMicro()
	}
	if mark := private.MarkOf(event); mark.ID != "" {
		version := event.SequenceNumber + int64(mark.Events) - 1
		got.ids = append(got.ids, remembrance{hashOf(mark.ID), version, got.time})
	}
	return nil
}

// evolveBy applies the values of a stored event to the state: usually one, but several or none if
// an upcaster or the journal's adapter converts it.
func (r *replay[S, E]) evolveBy(ctx context.Context, event *dynajournal.Event) error {
	host := r.entity.host
	values, converted, err := private.Converted(ctx, host.journal, event)
	if err != nil {
		return fmt.Errorf("load %q: %w", r.entity.pid, err)
	}
	if r.frozen && host.kind.Copy != nil {
		r.found.at.state = host.kind.Copy(r.found.at.state)
	}
	r.frozen = false
	if !converted {
		value, err := event.PayloadContext(ctx)
		if err != nil {
			return fmt.Errorf("load %q: %w", r.entity.pid, err)
		}
		return r.evolve(event, value)
	}
	for _, value := range values {
		if err := r.evolve(event, value); err != nil {
			return err
		}
	}
	return nil
}

// evolve applies a value of a stored event to the state. A panic becomes the error.
func (r *replay[S, E]) evolve(event *dynajournal.Event, value any) (err error) {
	typed, ok := value.(E)
	if !ok {
		return fmt.Errorf("load %q: event %d is a %T: %w", r.entity.pid, event.SequenceNumber, value, errWrongType)
	}
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{
				PersistenceID: r.entity.pid, Event: typed, SequenceNumber: event.SequenceNumber, Value: value,
				Stack: debug.Stack(),
			}
		}
	}()
	r.found.at.state = r.entity.host.kind.Evolve(r.found.at.state, typed)
	return nil
}
