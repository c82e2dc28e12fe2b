package jvm

import (
	"context"
	"math"

	"github.com/google/uuid"
)

// Entity is a running persistent actor. It must not be used concurrently.
type Entity struct {
	// Writer is its writer UUID, which is new for each Entity.
	Writer string
	// Snapshot is the snapshot from which the actor recovered, or nil. Events are the events that
	// were replayed after it.
	Snapshot *Snapshot
	Events   []Event
	// Highest is the highest number that the actor knows. The next event gets the number after it.
	Highest int64

	plugin *Plugin
	pid    string
}

// Start starts a persistent actor: it loads the latest snapshot, and replays the events after that.
func (p *Plugin) Start(ctx context.Context, pid string) (*Entity, error) {
	e := &Entity{plugin: p, pid: pid, Writer: uuid.NewString()}
	var err error
	if e.Snapshot, err = p.LoadSnapshot(ctx, pid, All()); err != nil {
		return nil, err
	}
	if e.Snapshot != nil {
		e.Highest = e.Snapshot.SequenceNumber
	}
	events, high, err := p.Replay(ctx, pid, e.Highest+1, math.MaxInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	e.Events, e.Highest = events, max(e.Highest, high)
	return e, nil
}

// Persist persists values as one atomic write, and returns the number of the first. Strings and
// bytes are serialized by the JVM's serializers. The numbers are used up even if it fails.
func (e *Entity) Persist(ctx context.Context, values ...any) (first int64, err error) {
	first = e.Highest + 1
	events := make([]NewEvent, len(values))
	for n, v := range values {
		if events[n].Payload, err = payloadOf(v); err != nil {
			return 0, err
		}
	}
	e.Highest += int64(len(values))
	return first, e.plugin.Write(ctx, Write{PersistenceID: e.pid, First: first, Writer: e.Writer, Events: events})
}

// PersistEach persists values one by one, and returns the number of the first.
func (e *Entity) PersistEach(ctx context.Context, values ...any) (first int64, err error) {
	first = e.Highest + 1
	for _, v := range values {
		if _, err := e.Persist(ctx, v); err != nil {
			return first, err
		}
	}
	return first, nil
}

// Delete deletes all events up to a number.
func (e *Entity) Delete(ctx context.Context, to int64) error {
	return e.plugin.Delete(ctx, e.pid, to)
}

// SaveSnapshot saves a snapshot of its state.
func (e *Entity) SaveSnapshot(ctx context.Context, state any) error {
	payload, err := payloadOf(state)
	if err != nil {
		return err
	}
	s := Snapshot{SequenceNumber: e.Highest, Timestamp: e.plugin.Now().UnixMilli(), Payload: payload}
	return e.plugin.SaveSnapshot(ctx, e.pid, s)
}

// DeleteSnapshots deletes the snapshots that criteria select.
func (e *Entity) DeleteSnapshots(ctx context.Context, c Criteria) error {
	return e.plugin.DeleteSnapshots(ctx, e.pid, c)
}
