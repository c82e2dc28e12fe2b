package entity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
)

var (
	errTooMany  = errors.New("the command has recorded too many events")
	errTooLarge = errors.New("the events of the command have too many bytes")
	errUnsent   = errors.New("the write was not sent: its commands are decided again, or have failed")
)

// write is one atomic write: the events of one command, or of several that were decided one after
// the other.
type write[S, E any] struct {
	// commands has the commands with events in the write, and the commands that have read these
	// events. one is its backing array for a single command.
	commands []*command[S, E]
	one      [1]*command[S, E]
	// recorders counts the commands with events.
	recorders int
	events    []encoded
	decided   []E
	size      int
	// time is the time of the last event, in microseconds since 1970.
	time int64
	// ctx is the context in which the write is sent, and sent is when it began, if hooks need it.
	// Only the goroutine that writes uses them.
	ctx  context.Context //nolint:containedctx // it lives as long as the write
	sent time.Time
	// base is the state before the write, and end the state after it.
	base, end point[S]
	// first is the sequence number that the commands expect for the first event.
	first    int64
	snapshot bool
}

// add adds a command with events.
func (w *write[S, E]) add(c *command[S, E]) {
	if c.first = len(w.events); w.commands == nil {
		w.commands = w.one[:0]
	}
	w.commands = append(w.commands, c)
	w.recorders++
	if w.events == nil { // most writes have one command
		w.events, w.decided = slices.Clip(c.encoded), slices.Clip(c.tx.events)
	} else {
		w.events = append(w.events, c.encoded...)
		w.decided = append(w.decided, c.tx.events...)
	}
	w.size += c.size
	w.time = c.tx.Now().UnixMicro()
	w.end = point[S]{c.tx.state, c.tx.version}
	w.snapshot = w.snapshot || c.tx.snapshot
}

// hasRoom reports whether a further event may be added.
func (w *write[S, E]) hasRoom(limits *Join) bool {
	return len(w.events) < limits.Events && w.size < limits.Bytes
}

// fits reports whether the events of a command may be added.
func (w *write[S, E]) fits(c *command[S, E], limits *Join) bool {
	return len(w.events)+len(c.encoded) <= limits.Events && w.size+c.size <= limits.Bytes
}

// findID returns the version that a command of the write leads to.
func (w *write[S, E]) findID(hash commandids.Hash) (int64, bool) {
	for _, c := range w.commands {
		if c.encoded != nil && c.options.ID != "" && c.hash == hash {
			return c.receipt.Version, true
		}
	}
	return 0, false
}

// rebuild computes the end state again from the base state. It reports false if Evolve panics.
func (w *write[S, E]) rebuild(kind *Type[S, E]) (ok bool) {
	tx := Tx[S, E]{stage: &stage[S, E]{kind: kind}, state: w.base.state, frozen: true}
	defer func() { ok = ok && recover() == nil }()
	for _, event := range w.decided {
		tx.evolve(event)
	}
	w.end.state = tx.state
	return true
}

// writeAll is the job that sends the pending writes, one after the other.
func (e *entity[S, E]) writeAll() {
	for more := true; more; more = e.writeNext() {
		e.writeOne()
	}
}

// writeOne performs the write in e.writing.
func (e *entity[S, E]) writeOne() {
	h := e.host
	e.mu.Lock()
	w, writer := e.writing, e.writer
	e.mu.Unlock()
	if writer != nil && writer.Err() != nil {
		writer = nil // ended by the deletion after a snapshot
	}
	if writer == nil {
		writer = e.becomeWriter(w)
	}
	if writer == nil {
		if w.ctx != nil { // a caller has passed the write to the hooks
			h.wrote(e, w, &core.Result{}, errUnsent)
		}
		return
	}
	start := h.moment()
	e.startWrite(w)
	result, err := writer.Append(w.ctx, w.events)
	e.handleOutcome(w, writer, start, &result, err)
}

// writeNext moves the next pending write to e.writing. If no write may be sent, it ends the job and
// reports false.
func (e *entity[S, E]) writeNext() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mayWrite() && !e.reload && !e.dropped {
		e.takePending()
		e.advance() // there is room now
		return true
	}
	e.busy = false
	e.advance()
	return false
}

// becomeWriter recovers the entity before a write, and returns the new writer. It returns nil if
// the write must not be sent: its commands are decided again, or have failed.
func (e *entity[S, E]) becomeWriter(w *write[S, E]) writer {
	found, err := e.host.storage.find(e.contextOf(w), e, recovering)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.fail(err)
		return nil
	}
	if same := found.at.version == w.base.version && found.next == w.first && !found.full; same {
		e.adoptWriter(found)
		return e.writer
	}
	e.adopt(found)
	e.decideAgain(w)
	return nil
}

// decideAgain ends a write. Its commands are decided again, except those that have ended. The
// caller holds mu.
func (e *entity[S, E]) decideAgain(w *write[S, E]) {
	e.writing = nil
	e.sendBack(w.commands)
	e.notify()
	e.advance()
}

// handleOutcome handles the outcome of a write.
func (e *entity[S, E]) handleOutcome(
	w *write[S, E], writer writer, start moment, result *core.Result, err error,
) {
	e.host.wrote(e, w, result, err)
	if err == nil {
		e.written(w, writer, start, result)
		return
	}
	var rejected *dynajournal.RejectedError
	switch {
	case errors.As(err, &rejected):
		e.rejected(w, rejected)
	case errors.Is(err, dynajournal.ErrOutcomeUnknown):
		e.lost(w, writer, err)
	case errors.Is(err, dynajournal.ErrWriterConflict), errors.Is(err, dynajournal.ErrWriterEnded):
		e.conflicted(w, err)
	default:
		e.failed(w, writer, err)
	}
}

// written ends a write that has succeeded.
func (e *entity[S, E]) written(w *write[S, E], writer writer, start moment, result *core.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.durable = point[S]{w.end.state, result.Last}
	e.author, e.time, e.confirmed, e.next = writer.UUID(), w.time, start, result.Last+1
	e.writing, e.conflicts = nil, 0
	for _, c := range w.commands {
		if c.encoded != nil {
			c.receipt = Receipt{
				Version: result.First + int64(c.first+len(c.encoded)) - 1, Events: len(c.encoded),
				Cost: dynajournal.Cost(result.Cost), Commands: w.recorders,
			}
			if c.options.ID != "" {
				e.ids.add(commandids.Done{Hash: c.hash, Version: c.receipt.Version, Time: w.time})
			}
		}
		c.end(c.tx.err)
	}
	if result.Last != w.end.version {
		// Numbers were sealed in between: commands decided since have read another version.
		e.sendBack(nil)
	}
	e.snapshotIfDue(w.snapshot)
	e.notify()
}

// rejected ends a write that the journal has rejected. The command of the event that can't be
// stored fails, and the others are decided again.
func (e *entity[S, E]) rejected(w *write[S, E], rejected *dynajournal.RejectedError) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range w.commands {
		switch last := c.first + len(c.encoded) - 1; {
		case c.encoded == nil:
		case w.recorders == 1:
			c.end(rejected)
		case rejected.Index < 0: // the write as a whole is too large
			c.single = true
		case rejected.Index >= c.first && rejected.Index <= last:
			own := *rejected
			own.Index -= c.first
			c.end(&own)
		}
	}
	e.decideAgain(w)
}

// failed ends a write that has stored nothing. Its commands with events get the error.
func (e *entity[S, E]) failed(w *write[S, E], writer writer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if writer.Err() != nil {
		e.writer = nil
	}
	for _, c := range w.commands {
		if c.encoded != nil {
			c.end(&notWrittenError{e.pid, err})
		}
	}
	e.decideAgain(w)
}

// conflictPauses limits the random pauses before the recovery after a conflict.
var conflictPauses = backoff.Pauses{Shortest: 2 * time.Millisecond, Longest: 200 * time.Millisecond}

// conflicted ends a write whose number another writer has taken. The entity catches up, and the
// commands are decided again.
func (e *entity[S, E]) conflicted(w *write[S, E], err error) {
	h := e.host
	h.counts.conflicts.Add(1)
	e.mu.Lock()
	e.blocked, e.writer = true, nil
	e.conflicts++
	pause := conflictPauses.Random(e.conflicts)
	e.mu.Unlock()
	for _, hook := range h.options.Hooks {
		if hook.OnConflict != nil {
			hook.OnConflict(w.ctx, Conflict{h.kind.Name, e.pid, len(w.commands), err})
		}
	}
	_ = backoff.Wait(h.life, pause) // find fails if the entities have ended
	found, failure := e.host.storage.find(w.ctx, e, recovering)
	e.mu.Lock()
	defer e.mu.Unlock()
	if failure != nil {
		e.fail(failure)
		return
	}
	e.adopt(found)
	for _, c := range w.commands {
		// A writer that had ended before has not tried to write.
		if c.encoded == nil || errors.Is(err, dynajournal.ErrWriterEnded) {
			continue
		}
		if c.conflicts++; c.conflicts >= h.options.Attempts {
			c.end(&ContendedError{e.pid, c.conflicts, err})
		}
	}
	e.decideAgain(w)
}

// fail ends all commands with an error and drops the entity, because it can't be loaded. The caller
// holds mu.
func (e *entity[S, E]) fail(err error) {
	commands := e.waiting
	if e.writing != nil {
		commands = append(commands, e.writing.commands...)
	}
	for _, w := range e.pending {
		commands = append(commands, w.commands...)
	}
	e.epoch++
	e.waiting, e.writing, e.pending = nil, nil, nil
	for _, c := range commands {
		if c.phase != ended {
			c.end(&notWrittenError{e.pid, err})
		}
	}
	e.failure = err
	e.drop(DropFailed)
	e.host.jobs.Go(func() { e.host.forget(e) })
}

// wrote counts a write that has ended, and calls the hooks.
func (h *Entities[S, E]) wrote(
	e *entity[S, E], w *write[S, E], result *core.Result, err error,
) {
	if err == nil {
		h.counts.writes.Add(1)
		h.counts.events.Add(int64(len(w.events)))
	}
	for _, hook := range h.options.Hooks {
		if hook.OnWrite != nil {
			hook.OnWrite(w.ctx, Write{
				Type: h.kind.Name, PersistenceID: e.pid, Commands: w.recorders, Events: len(w.events), Version: result.Last,
				Duration: time.Since(w.sent), Cost: dynajournal.Cost(result.Cost), Err: err,
			})
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		h.options.Logger.Debug("a write of an entity has failed", "event", "entity.write_failed", "persistence_id", e.pid, "error", err)
	}
}
