package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/serialization"
)

// snapshotIfDue starts to save the durable state if a snapshot is due. wanted reports that
// Type.SnapshotWhen has asked for one. While a snapshot is being saved, the next one waits. The
// caller holds mu.
func (e *entity[S, E]) snapshotIfDue(wanted bool) {
	every, version := e.host.kind.Snapshots.Every, e.durable.version
	if !wanted && (every == 0 || version-e.tried < every) {
		return
	}
	if e.saving {
		e.wanted = true
		return
	}
	e.saving, e.wanted, e.tried = true, false, version
	at := e.durable
	writer, ids, known := e.writer, commandids.Saved{Done: slices.Clip(e.ids.done), Limits: commandids.Limits(*e.ids.limits)}, e.confirmed
	e.host.jobs.Go(func() { e.save(at, ids, writer, known) })
}

// save saves a snapshot of a state that was current at the moment known, and deletes older
// snapshots and events. If the machine sleeps meanwhile, save deletes nothing: lower numbers may
// then belong to the next life of the entity.
func (e *entity[S, E]) save(at point[S], ids commandids.Saved, writer writer, known moment) {
	h, start, version := e.host, time.Now(), at.version
	ctx, cancel := context.WithTimeout(h.saves, h.options.RecoveryTimeout)
	defer cancel()
	err := guard(e.pid, func() error {
		snapshot, err := h.encodeState(ctx, at.state, ids)
		if err == nil {
			snapshot.PersistenceID, snapshot.SequenceNr = e.pid, version
			snapshot.Timestamp = h.core.Clock.Wall().UnixMilli()
			_, err = h.core.SaveSnapshot(ctx, snapshot)
		}
		return err
	})
	fresh := func() error {
		if e.host.isOld(known) {
			return dynajournal.ErrTooLate
		}
		return nil
	}
	if err == nil {
		err = fresh()
	}
	done := Snapshot{Type: h.kind.Name, PersistenceID: e.pid, Version: version}
	var oldest int64 // the oldest snapshot to retain
	e.mu.Lock()
	if err == nil {
		h.counts.snapshots.Add(1)
		e.saved = append(e.saved, version)
		if n := len(e.saved) - h.kind.Snapshots.Keep; n >= 0 {
			oldest = e.saved[n]
		}
	}
	e.mu.Unlock()
	if oldest > 0 {
		err = guard(e.pid, func() error { return e.removeBefore(ctx, oldest, writer, fresh, &done) })
	}
	if err != nil {
		h.options.Logger.WarnContext(ctx, "a snapshot of an entity has failed",
			"event", "entity.snapshot_failed", "persistence_id", e.pid, "version", version, "error", err)
	}
	done.Duration, done.Err = time.Since(start), err
	for _, hook := range h.options.Hooks {
		if hook.OnSnapshot != nil {
			hook.OnSnapshot(ctx, done)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.saved) - h.kind.Snapshots.Keep; n > 0 && oldest > 0 && err == nil {
		e.saved = append(e.saved[:0], e.saved[n:]...)
	}
	if e.saving = false; e.wanted && e.loaded && e.durable.version > version {
		e.snapshotIfDue(true)
	}
	e.advance()
}

// removeBefore deletes the snapshots before oldest, the oldest snapshot to retain, and the events
// up to it if Snapshots.DeleteEvents is set. fresh is called before each attempt to delete
// snapshots; the writer checks its own attempts. removeBefore records in done how much it has
// deleted.
func (e *entity[S, E]) removeBefore(
	ctx context.Context, oldest int64, current writer, fresh func() error, done *Snapshot,
) error {
	h := e.host
	var failed error
	if oldest > 1 {
		done.DeletedSnapshots, failed = h.core.DeleteSnapshots(ctx, e.pid, snapshots.UpTo(oldest-1), fresh)
	}
	settings := &h.kind.Snapshots
	writer, ok := current.(eventWriter)
	if !settings.DeleteEvents || failed != nil || !ok || writer.Err() != nil {
		return failed
	}
	to := oldest
	if settings.Needed != nil {
		needed, err := settings.Needed(ctx, e.pid)
		if err != nil {
			return fmt.Errorf("ask which events of %q are needed: %w", e.pid, err)
		}
		to = min(to, needed-1)
	}
	if to < 1 {
		return nil
	}
	_, err := writer.DeleteTo(ctx, to, true)
	switch {
	case errors.Is(err, dynajournal.ErrWriterEnded):
		return nil // another snapshot deletes them
	case err == nil:
		done.DeletedTo = to
	}
	return err
}

// encodeState returns the snapshot of a state, with the ids of commands.
func (h *Entities[S, E]) encodeState(ctx context.Context, state S, ids commandids.Saved) (*layout.Snapshot, error) {
	p, put, err := h.core.EncodePayload(ctx, state)
	if err != nil {
		return nil, err
	}
	if len(ids.Done) > 0 {
		p = commandids.Seal(p, &ids)
	}
	return &layout.Snapshot{SerializerID: p.SerializerID, Manifest: p.Manifest, Bytes: p.Bytes, Outside: put}, nil
}

// loadSnapshot sets got to the newest snapshot that can be decoded, if there is one. unread is the
// error of newer snapshots that can't be decoded. They are skipped, because the events may lead to
// the state without them.
func (e *entity[S, E]) loadSnapshot(ctx context.Context, got *found[S]) (unread, err error) {
	h := e.host
	criteria := dynajournal.SnapshotCriteria{}
	for range h.kind.Snapshots.Keep + 1 { // one more is there while the oldest is not deleted yet
		snapshot, ok, err := h.journal.LoadSnapshot(ctx, e.pid, criteria)
		if err != nil || !ok {
			return unread, err
		}
		number := snapshot.SequenceNumber
		state, ids, failed := h.decodeState(ctx, snapshot.Serialized())
		if failed == nil {
			got.snapshot, got.at, got.ids, got.limits = number, point[S]{state, number}, ids.Done, CommandIDs(ids.Limits)
			return unread, nil
		}
		failed = fmt.Errorf("the snapshot at %d: %w", number, failed)
		h.options.Logger.WarnContext(ctx, "a snapshot of an entity can't be decoded and is skipped",
			"event", "entity.snapshot_skipped", "persistence_id", e.pid, "version", number, "error", failed)
		unread, got.unread = errors.Join(unread, failed), max(got.unread, number)
		switch number {
		case 0:
			return unread, nil
		case 1:
			criteria.SequenceNumber = new(int64(0)) // a JVM saves one before the first event
		default:
			criteria.MaxSequenceNumber = number - 1
		}
	}
	return unread, nil
}

// decodeState returns the state and the ids of a stored snapshot.
func (h *Entities[S, E]) decodeState(ctx context.Context, p serialization.Payload) (S, commandids.Saved, error) {
	var none S
	inner, ids, err := commandids.Open(p)
	if err != nil {
		return none, commandids.Saved{}, err
	}
	if upcast, ok := h.kind.SnapshotUpcasters[inner.Manifest]; ok {
		if inner, err = h.core.Serialization.Resolve(ctx, inner); err != nil {
			return none, commandids.Saved{}, err
		}
		state, err := upcast(inner)
		return state, ids, err
	}
	value, err := h.core.Serialization.Decode(ctx, inner)
	if err != nil {
		return none, commandids.Saved{}, err
	}
	state, ok := value.(S)
	if !ok {
		return none, commandids.Saved{}, fmt.Errorf("the state is a %T, want a %T", value, none)
	}
	return state, ids, nil
}
