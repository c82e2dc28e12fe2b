package entity

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/states"
	"github.com/dynajournal/dynajournal/serialization"
)

// stateStorage stores entities as their states. It sets entity.author to the writers of the item
// that the durable state was read from. They identify the content of the item.
type stateStorage[S any] struct{ self states.Writer }

// recorded is a state that a command has recorded, encoded for Append. Only the last state of a
// command has a payload.
type recorded struct {
	payload serialization.Payload
	// put is when storing the payload outside the journal began, or nil if the payload is not
	// stored outside.
	put *clock.Moment
	// hash is the hash of the command's id. It is valid if named is set.
	hash  commandids.Hash
	named bool
	// time is the time of the command, in microseconds since 1970.
	time int64
}

var errManifestNotText = errors.New("the manifest of its serializer is not valid UTF-8")

func (s *stateStorage[S]) encode(e *entity[S, S], c *command[S, S]) error {
	recordings := c.tx.events
	payload, put, err := e.host.core.EncodePayload(c.ctx, recordings[len(recordings)-1])
	if err == nil && !utf8.ValidString(payload.Manifest) {
		err = errManifestNotText
	}
	size, limit := len(payload.Bytes), e.host.core.MaxSnapshotBytes
	switch {
	case err != nil:
		size, limit = 0, 0
	case size > limit:
		err = states.ErrTooLarge
	}
	if err != nil {
		index := len(recordings) - 1
		return &dynajournal.RejectedError{PersistenceID: e.pid, Index: index, Size: size, Limit: limit, Err: err}
	}
	c.encoded = make([]encoded, len(recordings))
	for i := range c.encoded {
		c.encoded[i].state = &recorded{}
	}
	c.encoded[len(recordings)-1].state = &recorded{payload, put, c.hash, c.options.ID != "", c.tx.Now().UnixMicro()}
	return nil
}

func (s *stateStorage[S]) load(ctx context.Context, e *entity[S, S], _ mode) (*found[S], error) {
	return e.withRecoveryLimits(ctx, false, func(ctx context.Context) (*found[S], error) { return s.read(ctx, e) })
}

func (s *stateStorage[S]) find(ctx context.Context, e *entity[S, S], how mode) (*found[S], error) {
	return s.load(ctx, e, how)
}

func (s *stateStorage[S]) catchUp(e *entity[S, S], _ news) (*found[S], error) {
	return s.load(e.host.life, e, reading)
}

// read reads the state of an entity.
func (s *stateStorage[S]) read(ctx context.Context, e *entity[S, S]) (*found[S], error) {
	h := e.host
	got := &found[S]{full: true, start: h.moment()}
	var stored *layout.State
	_, err := h.core.OnState(ctx, e.pid, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
		var err error
		stored, err = store.Read(ctx, m, e.pid)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", e.pid, err)
	}
	w := &stateWriter[S]{entity: e, self: s.self, base: stored}
	w.ids.limits = &h.options.CommandIDs
	got.writer, got.author = w, w.UUID()
	got.at.state = h.kind.initial(e.id)
	if stored != nil {
		got.at.version, got.time = stored.Version, stored.Time
	}
	got.next = got.at.version + 1
	if stored == nil || stored.Purged {
		return got, nil
	}
	var saved commandids.Saved
	if saved, err = commandids.Decode(stored.IDs); err == nil {
		got.ids, got.limits = saved.Done, CommandIDs(saved.Limits)
		got.limits.Last, got.limits.Most = min(got.limits.Last, maxStateIDs), min(got.limits.Most, maxStateIDs)
		w.ids.done = got.ids
		w.ids.raiseLimits(got.limits)
		payload := serialization.Payload{SerializerID: stored.SerializerID, Manifest: stored.Manifest, Bytes: stored.Bytes}
		got.at.state, _, err = h.decodeState(ctx, payload)
	}
	if err != nil {
		return nil, fmt.Errorf("load %q: the state of version %d: %w", e.pid, stored.Version, err)
	}
	stored.Bytes = nil // the state has them
	return got, nil
}

// findWrite reads the item, which shows whether it includes the lost put. If it does not, findWrite
// puts the item again, unchanged but with another writer, so that the lost put can no longer be
// stored.
func (s *stateStorage[S]) findWrite(
	e *entity[S, S], by writer, _ []encoded, first, last int64,
) (*found[S], int64, error) {
	lost := by.(*stateWriter[S]) //nolint:forcetypeassert // it is from read
	for range maxLookups {
		got, err := s.find(e.host.life, e, recovering)
		if err != nil {
			return got, 0, err
		}
		w := got.writer.(*stateWriter[S]) //nolint:forcetypeassert // see read
		stored, known := states.Wrote(w.base, lost.put, last)
		switch {
		case stored:
			return got, first, nil
		case !known:
			return got, 0, errDeleted
		}
		fenced, err := w.fence(e.host.life)
		if err != nil {
			return nil, 0, err
		}
		if fenced {
			got.author = w.UUID()
			return got, 0, nil
		}
	}
	return nil, 0, dynajournal.ErrWriterConflict
}

func (s *stateStorage[S]) checkNews(ctx context.Context, e *entity[S, S], _ int64, _ moment) (news, error) {
	var head *layout.State
	_, err := e.host.core.OnState(ctx, e.pid, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
		var err error
		head, err = store.Head(ctx, m, e.pid)
		return err
	})
	if err != nil {
		return noNews, fmt.Errorf("check %q for changes: %w", e.pid, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if authorOf(head) != e.author {
		return more, nil
	}
	return noNews, nil
}

// authorOf returns the writers of an item, which identify it. It is empty without an item.
func authorOf(s *layout.State) string {
	if s == nil {
		return ""
	}
	return string(s.Writers)
}

func (s *stateStorage[S]) purge(ctx context.Context, e *entity[S, S]) error {
	_, err := e.host.core.OnState(ctx, e.pid, func(ctx context.Context, store *states.Store, m *dynamo.Meter) error {
		return m.Mark(store.Purge(ctx, m, e.pid))
	})
	if errors.Is(err, states.ErrConflict) {
		err = &dynajournal.ConflictError{PersistenceID: e.pid}
	}
	if err != nil {
		return fmt.Errorf("purge %q: %w", e.pid, err)
	}
	return nil
}
