package entity

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// maxLookups limits how often an entity looks for the events of a write whose outcome is not known.
// It looks again if another writer takes the next number before the entity can seal it.
const maxLookups = 100

// lost ends a write whose outcome is not known. The entity recovers and finds out whether the
// events are stored. If they are, the commands get their results. If not, all numbers of the write
// are taken by now, or the entity seals one of them: the write can no longer be completed, and the
// commands are decided again. So no command is done twice.
func (e *entity[S, E]) lost(w *write[S, E], writer writer, cause error) {
	first := firstNumber(w, cause)
	e.mu.Lock()
	e.blocked, e.writer = true, nil
	e.mu.Unlock()
	got, at, err := e.host.storage.findWrite(e, writer, w.events, first, first+int64(len(w.events))-1)
	e.mu.Lock()
	defer e.mu.Unlock()
	deleted := errors.Is(err, errDeleted)
	if err != nil && !deleted {
		for _, c := range w.commands {
			if c.encoded != nil {
				c.end(&unknownError{e.pid, errors.Join(cause, err)})
			}
		}
		e.fail(err)
		return
	}
	e.adopt(got)
	for _, c := range w.commands {
		version, known := e.ids.find(c.hash)
		switch {
		case c.encoded == nil:
		case at > 0:
			c.receipt = Receipt{Version: at + int64(c.first+len(c.encoded)) - 1, Events: len(c.encoded)}
			c.end(nil)
		case deleted && c.options.ID != "" && known:
			// Or another process has done a repeat of the command, on another state.
			c.end(&DuplicateError{PersistenceID: e.pid, CommandID: c.options.ID, Version: version})
		case deleted:
			c.end(&unknownError{e.pid, cause})
		}
	}
	e.decideAgain(w)
}

// errDeleted reports that the numbers of a write are deleted, so its outcome can't be determined.
var errDeleted = errors.New("the numbers of the write are deleted")

// firstNumber returns the first number that a write has tried to take.
func firstNumber[S, E any](w *write[S, E], cause error) int64 {
	if unknown, ok := errors.AsType[*dynajournal.OutcomeUnknownError](cause); ok {
		return unknown.First
	}
	return w.base.version + 1
}

// findWrite recovers the entity, and looks for the events of a write at the numbers from first to
// last. own is the first event of the write. findWrite returns the first number if the events are
// stored, and 0 if they are not stored and never will be. If the numbers are deleted, the error is
// errDeleted.
func (e *entity[S, E]) findWrite(own *layout.Event, first, last int64) (*found[S], int64, error) {
	for range maxLookups {
		stored := false
		observe := func(event *layout.Event) {
			stored = stored || event.SequenceNr == first && layout.SameEvent(layout.Slot{Event: event}, own)
		}
		got, err := e.find(e.host.life, recovering, observe)
		switch {
		case err != nil:
			return nil, 0, err
		case !stored && got.full && got.snapshot >= first:
			// The snapshot of another process covers the numbers.
			if err = e.observe(first, last, observe); err != nil {
				return nil, 0, err
			}
		}
		switch {
		case stored:
			return got, first, nil
		case first <= got.deletedTo:
			return got, 0, errDeleted
		case last < got.next:
			return got, 0, nil
		}
		closed, err := closeNext(e.host.life, got)
		if err != nil {
			return nil, 0, err
		}
		if closed {
			return got, 0, nil
		}
	}
	return nil, 0, dynajournal.ErrWriterConflict
}

// observe passes the stored events from first to last to a function.
func (e *entity[S, E]) observe(first, last int64, observe func(*layout.Event)) error {
	ctx, cancel := context.WithTimeout(e.host.life, e.host.options.RecoveryTimeout)
	defer cancel()
	req := core.From(e.pid, first)
	req.To = last
	_, err := e.host.core.Read(ctx, req, func(event *layout.Event) error {
		observe(event)
		return nil
	})
	return err
}
