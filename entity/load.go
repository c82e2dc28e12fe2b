package entity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// mode selects how the state of an entity is loaded.
type mode int

const (
	// reading does not write: read permissions are enough.
	reading mode = iota
	// recovering also creates a writer.
	recovering
)

// found is the state of an entity as loaded from the journal.
type found[S any] struct {
	at point[S]
	// writer is nil if events were loaded in mode reading.
	writer writer
	next   int64
	author string
	time   int64
	ids    []commandids.Done
	// limits has the limits that are stored with ids, or zeros.
	limits CommandIDs
	// full reports that the state was loaded from the start, and not from the durable state.
	full bool
	// snapshot is the number of the snapshot that the load started from, or 0.
	// events counts the replayed events.
	snapshot, events int64
	// unread is the number of the newest snapshot if it can't be decoded, or 0.
	unread int64
	// deletedTo is the last deleted number.
	// behind is the last number that was deleted because a snapshot contains its event, or 0.
	deletedTo, behind int64
	// purged is the highest number that a purge has taken, or 0. The events after it are the
	// present life of the entity.
	purged int64
	start  moment
}

// lacksDeleted reports whether the state lacks events of the present life, because they are deleted
// and the snapshot does not contain them.
func (f *found[S]) lacksDeleted() bool { return f.deletedTo > max(f.snapshot, f.purged) }

var (
	// errReplaced reports that the journal has other events than the state contains.
	errReplaced = errors.New("the entity was purged and written again")
	// errUnreadable reports that the state needs a snapshot that can't be decoded.
	errUnreadable = errors.New("its events are deleted, and its snapshot can't be read")
)

// load is the job that loads the state from the start, with the values of the context of the first
// command that waits.
func (e *entity[S, E]) load(commands bool) {
	how := reading
	if commands {
		how = recovering
	}
	got, err := e.host.storage.load(e.contextOfLoad(), e, how)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	if err != nil {
		e.fail(err)
		return
	}
	e.adopt(got)
	if every := e.host.kind.Snapshots.Every; commands && every > 0 && got.events >= every {
		e.snapshotIfDue(false) // the snapshot is missing; a view does not write
	}
	e.advance()
}

// adopt makes a found state the durable one. The caller holds mu, runs the job, and sends back
// commands that were decided on another state.
func (e *entity[S, E]) adopt(got *found[S]) {
	if got.full {
		e.ids = remembered{limits: &e.host.options.CommandIDs}
		e.saved = nil
		if got.snapshot > 0 {
			e.saved = append(e.saved, got.snapshot)
		}
		e.tried = got.snapshot
		e.author, e.time = "", 0
	}
	e.ids.raiseLimits(got.limits)
	for _, id := range got.ids {
		e.ids.add(id)
	}
	e.durable, e.confirmed, e.deletedTo, e.purged = got.at, got.start, got.deletedTo, got.purged
	if got.author != "" {
		e.author, e.time = got.author, got.time
	}
	e.loaded, e.blocked, e.reload = true, false, false
	e.adoptWriter(got)
	e.notify()
}

// adoptWriter takes the writer and the next number of a found state. The caller holds mu.
func (e *entity[S, E]) adoptWriter(got *found[S]) {
	e.writer, e.next = got.writer, got.next
}

// find loads the state from the durable state and the events after it, or from the start if that is
// not possible. observe, if set, is called with each event after the durable state. The caller runs
// the job, so the durable state does not change.
func (e *entity[S, E]) find(
	ctx context.Context, how mode, observe func(*layout.Event),
) (*found[S], error) {
	if e.isOld() {
		return e.fromStart(ctx, how, observe)
	}
	got, err := e.withRecoveryLimits(ctx, true, func(ctx context.Context) (*found[S], error) {
		return e.fromDurable(ctx, how, observe)
	})
	replaced := errors.Is(err, errReplaced) || errors.Is(err, dynajournal.ErrVersion) ||
		errors.Is(err, dynajournal.ErrPurged) || errors.Is(err, dynajournal.ErrDeletedMeanwhile)
	if replaced || err == nil && (got.purged != e.purged || got.deletedTo > max(e.durable.version, e.purged)) || e.isOld() {
		return e.fromStart(ctx, how, observe)
	}
	return got, err
}

// isOld reports whether the durable state is too old to continue from: the events after its version
// may belong to the next life of the entity. After the machine was asleep, only a response may show
// this.
func (e *entity[S, E]) isOld() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.host.isOld(e.confirmed)
}

// withRecoveryLimits calls read within Options.MaxRecoveries and Options.RecoveryTimeout, and
// reports the recovery to the hooks. catchUp is Recovery.CatchUp.
func (e *entity[S, E]) withRecoveryLimits(
	ctx context.Context, catchUp bool, read func(context.Context) (*found[S], error),
) (*found[S], error) {
	h, start := e.host, time.Now()
	recovery := Recovery{Type: h.kind.Name, PersistenceID: e.pid, CatchUp: catchUp}
	ctx = e.startRecovery(ctx)
	select {
	case h.recovering <- struct{}{}:
		defer func() { <-h.recovering }()
	case <-h.life.Done():
		e.endRecovery(ctx, recovery, start, nil, ErrClosed)
		return nil, ErrClosed
	}
	recovery.Waited = time.Since(start)
	limited, cancel := context.WithTimeout(ctx, h.options.RecoveryTimeout)
	defer cancel()
	var got *found[S]
	err := guard(e.pid, func() error {
		var err error
		got, err = read(limited)
		return err
	})
	if limited.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		// It is not the deadline of the caller, who could not distinguish the two.
		err = fmt.Errorf("load %q: %w (%v): %w", e.pid, ErrRecoveryTimeout, h.options.RecoveryTimeout, err)
	}
	e.endRecovery(ctx, recovery, start, got, err)
	return got, err
}

// endRecovery counts a recovery that has ended, and calls the hooks.
func (e *entity[S, E]) endRecovery(ctx context.Context, recovery Recovery, start time.Time, got *found[S], err error) {
	h := e.host
	recovery.Duration, recovery.Err = time.Since(start), err
	if err == nil {
		h.counts.recoveries.Add(1)
		recovery.Snapshot, recovery.Events, recovery.Version = got.snapshot, got.events, got.at.version
	}
	for _, hook := range h.options.Hooks {
		if hook.OnRecovery != nil {
			hook.OnRecovery(ctx, recovery)
		}
	}
}

// fromDurable loads the state from the durable state and the events after it. It also reads the
// last event of the durable state again: if the entity was purged and written again, this event has
// another writer.
func (e *entity[S, E]) fromDurable(
	ctx context.Context, how mode, observe func(*layout.Event),
) (*found[S], error) {
	got := &found[S]{at: e.durable, start: e.host.moment()}
	replay := &replay[S, E]{entity: e, found: got, frozen: true, observe: observe}
	after, there, mayLose := e.durable.version, false, e.mayLose()
	if e.author != "" || mayLose {
		after--
	}
	err := e.replay(ctx, how, core.After(e.pid, after, false), got, func(event *layout.Event) error {
		if event.SequenceNr == e.durable.version {
			there = true
			if e.author != "" && event.WriterUUID != e.author {
				return errReplaced
			}
			return nil
		}
		if mayLose && !there && got.events == 0 && event.SequenceNr > e.durable.version+1 {
			return dynajournal.ErrDeletedMeanwhile
		}
		return replay.apply(ctx, event)
	})
	if err == nil && mayLose && !there && got.events == 0 {
		err = dynajournal.ErrDeletedMeanwhile
	}
	return got, err
}

// mayLose reports whether a JVM can delete the last event of the durable state, and more events
// than its low mark shows (see Store.JVMLowAround of internal/protocol). If that event is gone, the
// state can be loaded from the durable state only if the next event directly follows it. The caller
// runs a job.
func (e *entity[S, E]) mayLose() bool {
	return e.host.core.Store.Shared() && e.lastStays()
}

// maxLoadAttempts limits the attempts to load an entity whose events are deleted meanwhile.
const maxLoadAttempts = 5

// fromStart loads the state from the newest snapshot, or from the first event if no snapshot
// exists.
func (e *entity[S, E]) fromStart(
	ctx context.Context, how mode, observe func(*layout.Event),
) (*found[S], error) {
	snapshots := e.host.kind.snapshots()
	var before error
	for tries := 1; ; tries++ {
		got, err := e.withRecoveryLimits(ctx, false, func(ctx context.Context) (*found[S], error) {
			return e.fromNewest(ctx, how, snapshots, observe)
		})
		doubt := errors.Is(err, dynajournal.ErrSnapshotMissing) || errors.Is(err, dynajournal.ErrSnapshotAhead)
		if doubt && (before == nil || before.Error() != err.Error()) && tries < maxLoadAttempts {
			// Another process may have saved the snapshot, or purged the entity, between the reads.
			before = err
		} else if !errors.Is(err, dynajournal.ErrDeletedMeanwhile) || tries == maxLoadAttempts {
			return got, err
		}
		// If the type saves no snapshots, another version of the program may have saved one.
		snapshots = true
	}
}

// fromNewest loads the state from the newest snapshot of the present life, or from the first event
// if no such snapshot exists.
func (e *entity[S, E]) fromNewest(
	ctx context.Context, how mode, snapshots bool, observe func(*layout.Event),
) (*found[S], error) {
	got, err := e.fromSnapshot(ctx, how, snapshots, observe)
	if errors.Is(err, dynajournal.ErrPurged) || err == nil && got.snapshot > 0 && got.snapshot <= got.purged {
		// The newest snapshot was saved before the purge, which has not removed it yet.
		got, err = e.fromSnapshot(ctx, how, false, observe)
	}
	if err == nil {
		err = e.checkSnapshot(ctx, got)
	}
	if err == nil && got.snapshot > 0 && got.snapshot < got.deletedTo {
		// An erasure, or a purge by an earlier version, deletes more events than any snapshot
		// contains. This snapshot was saved after it.
		return e.fromSnapshot(ctx, how, false, observe)
	}
	return got, err
}

// checkSnapshot checks that the state contains all deleted events: no newer snapshot exists, and
// the low mark does not rely on one.
func (e *entity[S, E]) checkSnapshot(ctx context.Context, got *found[S]) error {
	if got.lacksDeleted() {
		if err := e.wantNoneAfter(ctx, max(got.snapshot, got.purged)); err != nil {
			return err
		}
	}
	if got.behind > got.snapshot {
		return &dynajournal.SnapshotMissingError{PersistenceID: e.pid, DeletedTo: got.behind, Newest: got.snapshot}
	}
	return nil
}

// wantNoneAfter returns ErrDeletedMeanwhile if a snapshot after number exists.
func (e *entity[S, E]) wantNoneAfter(ctx context.Context, number int64) error {
	newest, ok, err := e.host.journal.LoadSnapshot(ctx, e.pid, dynajournal.SnapshotCriteria{})
	if err == nil && ok && newest.SequenceNumber > number {
		return dynajournal.ErrDeletedMeanwhile
	}
	return err
}

func (e *entity[S, E]) fromSnapshot(
	ctx context.Context, how mode, snapshots bool, observe func(*layout.Event),
) (*found[S], error) {
	got := &found[S]{full: true, start: e.host.moment()}
	got.at.state = e.host.kind.initial(e.id)
	var unread error
	if snapshots {
		var err error
		if unread, err = e.loadSnapshot(ctx, got); err != nil {
			return nil, err
		}
	}
	replay := &replay[S, E]{entity: e, found: got, observe: observe}
	err := e.replay(ctx, how, core.After(e.pid, got.snapshot, got.snapshot > 0), got, func(event *layout.Event) error {
		return replay.apply(ctx, event)
	})
	needed := err == nil && got.lacksDeleted() || errors.Is(err, dynajournal.ErrSnapshotMissing)
	if unread != nil && needed {
		err = fmt.Errorf("load %q: %w: %w", e.pid, errUnreadable, unread)
	}
	if highest := got.next - 1; err == nil && got.unread > max(highest, got.purged) {
		// An older journal was restored. Its numbers must not be used for other events.
		ahead := &dynajournal.SnapshotAheadError{PersistenceID: e.pid, Snapshot: got.unread, Highest: highest}
		err = fmt.Errorf("load %q: %w: %w", e.pid, ahead, unread)
	}
	return got, err
}

// replay passes the stored events of a request to handle, and completes got.
func (e *entity[S, E]) replay(
	ctx context.Context, how mode, req *protocol.Request, got *found[S], handle func(*layout.Event) error,
) error {
	if how == reading {
		end, err := e.host.core.ReadAfter(ctx, *req, handle)
		got.next, got.deletedTo, got.behind, got.purged = end.Next, end.DeletedTo, end.Behind, end.Purged
		if got.deletedTo > got.purged {
			got.at.version = max(got.at.version, got.deletedTo) // as Writer.Last
		}
		got.next = max(got.next, got.at.version+1)
		return err
	}
	writer, err := e.host.core.Recover(ctx, req, handle)
	if err != nil {
		return err
	}
	last, err := writer.Last(ctx)
	if err == nil {
		got.next, err = writer.Next(ctx)
	}
	if err == nil {
		var low layout.LowMark
		low, err = writer.LowMark(ctx)
		got.behind, got.purged = low.Behind, low.Purged
	}
	got.writer, got.deletedTo = eventWriter{&writer}, writer.DeletedTo()
	if err == nil && last > max(got.at.version, got.deletedTo) {
		err = dynajournal.ErrDeletedMeanwhile // the state lacks an event
	}
	got.at.version = last
	return err
}
