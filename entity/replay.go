package entity

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// errWrongType reports that the journal has an event of another type.
var errWrongType = errors.New("not an event of the entity's type")

// replay applies stored events to a state.
type replay[S, E any] struct {
	entity *entity[S, E]
	found  *found[S]
	// frozen reports that the state is shared: Copy must be called before the first event is
	// applied.
	frozen bool
	// observe, if set, is called with each event before it is applied.
	observe func(*layout.Event)
}

// apply applies a stored event.
func (r *replay[S, E]) apply(ctx context.Context, event *layout.Event) error {
	if r.observe != nil {
		r.observe(event)
	}
	if err := r.evolveBy(ctx, event); err != nil {
		return err
	}
	got := r.found
	got.events++
	got.at.version, got.author = event.SequenceNr, event.WriterUUID
	got.time = event.Metadata.Time
	if mark := core.MarkOf(event.Metadata.Values); mark.ID != "" {
		version := event.SequenceNr + int64(mark.Events) - 1
		got.ids = append(got.ids, commandids.Done{Hash: commandids.HashOf(mark.ID), Version: version, Time: got.time})
	}
	return nil
}

// evolveBy applies the values of a stored event to the state: usually one, but several or none if
// an upcaster or the journal's adapter converts it.
func (r *replay[S, E]) evolveBy(ctx context.Context, event *layout.Event) error {
	host := r.entity.host
	values, converted, err := host.core.Converted(ctx, event)
	if err != nil {
		return fmt.Errorf("load %q: %w", r.entity.pid, err)
	}
	if r.frozen && host.kind.Copy != nil {
		r.found.at.state = host.kind.Copy(r.found.at.state)
	}
	r.frozen = false
	if !converted {
		value, err := host.core.Decode(ctx, event)
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

// evolve applies a value of a stored event to the state, and returns a panic as an error.
func (r *replay[S, E]) evolve(event *layout.Event, value any) (err error) {
	typed, ok := value.(E)
	if !ok {
		return fmt.Errorf("load %q: event %d is a %T: %w", r.entity.pid, event.SequenceNr, value, errWrongType)
	}
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{
				PersistenceID: r.entity.pid, Event: typed, SequenceNumber: event.SequenceNr, Value: value,
				Stack: debug.Stack(),
			}
		}
	}()
	r.found.at.state = r.entity.host.kind.Evolve(r.found.at.state, typed)
	return nil
}
