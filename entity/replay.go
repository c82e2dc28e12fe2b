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
	kind, got := &r.entity.host.kind, r.found
	events, err := r.decode(ctx, event)
	if err != nil {
		return err
	}
	if r.frozen && kind.Copy != nil {
		got.at.state = kind.Copy(got.at.state)
	}
	r.frozen = false
	for _, decoded := range events {
		if got.at.state, err = r.evolve(got.at.state, decoded, event.SequenceNumber); err != nil {
			return err
		}
	}
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

// decode returns the events to apply for a stored one.
func (r *replay[S, E]) decode(ctx context.Context, event *dynajournal.Event) ([]E, error) {
	pid := r.entity.pid
	if upcast, ok := r.entity.host.kind.Upcasters[event.SerializerManifest]; ok {
		stored, err := r.entity.host.settings.Resolve(ctx, event.Serialized())
		if err != nil {
			return nil, fmt.Errorf("load %q: event %d: %w", pid, event.SequenceNumber, err)
		}
		events, err := upcast(stored)
		if err != nil {
			return nil, fmt.Errorf("load %q: event %d: upcaster: %w", pid, event.SequenceNumber, err)
		}
		return events, nil
	}
	if r.entity.host.settings.Adapted {
		return r.adapt(ctx, event)
	}
	value, err := event.PayloadContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", pid, err)
	}
	decoded, err := r.typed(event, value)
	if err != nil {
		return nil, err
	}
	return []E{decoded}, nil
}

// adapt returns the events to apply for a stored one by the journal's adapter.
func (r *replay[S, E]) adapt(ctx context.Context, event *dynajournal.Event) ([]E, error) {
	values, err := private.Adapted(ctx, r.entity.host.journal, event)
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", r.entity.pid, err)
	}
	events := make([]E, len(values))
	for i, value := range values {
		if events[i], err = r.typed(event, value); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// typed returns the value of a stored event as an event of the type.
func (r *replay[S, E]) typed(event *dynajournal.Event, value any) (E, error) {
	decoded, ok := value.(E)
	if !ok {
		return decoded, fmt.Errorf("load %q: event %d is a %T: %w", r.entity.pid, event.SequenceNumber, value, errWrongType)
	}
	return decoded, nil
}

// evolve applies an event. A panic becomes the error.
func (r *replay[S, E]) evolve(state S, event E, number int64) (after S, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{
				PersistenceID: r.entity.pid, Event: event, SequenceNumber: number, Value: value, Stack: debug.Stack(),
			}
		}
	}()
	return r.entity.host.kind.Evolve(state, event), nil
}
