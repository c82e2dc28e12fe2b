package entity

import (
	"context"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/internal/commandids"
)

// Update runs a command on an entity, and returns when its events are durable. A command that
// returns an error, or records nothing, writes nothing; Update still waits until the events that it
// has read are durable. The package documentation says when a command runs again.
//
// If ctx ends before the events are sent, nothing is written. If it ends later, the error is
// [ErrOutcomeUnknown], and the events may be written.
//
// Errors: the error of the command, unchanged; [ErrBusy], [ErrClosed], [ErrContended],
// [ErrDuplicate], [ErrOutcomeUnknown], [ErrPanic], [ErrReentrant], [ErrVersion],
// [dynajournal.ErrInvalidArgument], [dynajournal.ErrRejected], errors of loading the entity and
// errors of requests. [dynajournal.MaybeApplied] reports whether the events may be written.
func (h *Entities[S, E]) Update(
	ctx context.Context, id string, decide func(*Tx[S, E]) error, opts ...CommandOption,
) (Receipt, error) {
	if decide == nil {
		return Receipt{}, argument("command", "nil", "it must be a function")
	}
	if len(opts) == 0 && len(h.options.Hooks) == 0 {
		return h.updateAtOnce(ctx, id, decide)
	}
	c := &command[S, E]{ctx: ctx, tx: &Tx[S, E]{command: decide}}
	for _, opt := range opts {
		opt(&c.options)
	}
	if err := c.options.Check(h.metadata); err != nil {
		return Receipt{}, err
	}
	if c.options.ID != "" {
		c.hash = commandids.HashOf(c.options.ID)
	}
	if ctx.Err() != nil {
		return Receipt{}, &notWrittenError{h.kind.PersistenceID(id), context.Cause(ctx)}
	}
	e, err := h.startCall(id, 1)
	if err != nil {
		return Receipt{}, err
	}
	defer h.calls.Done()
	h.startCommand(c, e.pid)
	h.counts.waiting.Add(1)
	defer h.counts.waiting.Add(-1)
	if c.options.Fresh {
		_, err = h.refresh(c.ctx, e)
	}
	if err == nil {
		err = h.runOnce(e, c)
	}
	h.ended(c, e.pid, err)
	if err != nil {
		return Receipt{}, err
	}
	if c.options.Receipt != nil {
		*c.options.Receipt = c.receipt
	}
	return c.receipt, nil
}

// updateAtOnce runs a command without options. If the entity is idle, and the command records
// nothing, this costs little more than a function call on the state.
func (h *Entities[S, E]) updateAtOnce(
	ctx context.Context, id string, decide func(*Tx[S, E]) error,
) (Receipt, error) {
	if ctx.Err() != nil {
		return Receipt{}, &notWrittenError{h.kind.PersistenceID(id), context.Cause(ctx)}
	}
	e, err := h.startCall(id, 1)
	if err != nil {
		return Receipt{}, err
	}
	defer h.calls.Done()
	c := (*command[S, E])(nil)
	if tx, epoch, ticket := e.takeTurn(decide); tx != nil {
		at := tx.version
		if c = e.tryAtOnce(ctx, tx, epoch, ticket); c == nil {
			return Receipt{Version: at}, tx.err
		}
	}
	h.counts.waiting.Add(1)
	defer h.counts.waiting.Add(-1)
	if c != nil {
		e.finishTurn(c)
		err = h.finish(e, c)
	} else {
		c = &command[S, E]{ctx: ctx, tx: &Tx[S, E]{command: decide}}
		err = h.run(e, c)
	}
	if err != nil {
		return Receipt{}, err
	}
	return c.receipt, nil
}

// takeTurn takes the turn if the turn is free and the durable state is the current one. Otherwise
// it returns nil.
func (e *entity[S, E]) takeTurn(decide func(*Tx[S, E]) error) (tx *Tx[S, E], epoch, ticket int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dropped || !e.loaded || e.blocked || e.reload || e.deciding != nil || len(e.waiting) > 0 ||
		e.writing != nil || len(e.pending) > 0 {
		return nil, 0, 0
	}
	e.tickets++
	e.deciding = &e.host.atOnce
	return e.transaction(decide), e.epoch, e.tickets
}

// tryAtOnce runs a command that has taken the turn. It returns nil if the command has ended.
// Otherwise it returns the command, which still has the turn.
func (e *entity[S, E]) tryAtOnce(ctx context.Context, tx *Tx[S, E], epoch, ticket int64) *command[S, E] {
	returned := false
	defer func() {
		if !returned {
			e.exits(&command[S, E]{})
		}
	}()
	tx.run()
	returned = true
	e.mu.Lock()
	defer e.mu.Unlock()
	_, panicked := tx.err.(*PanicError) //nolint:errorlint // it is the error itself
	if !panicked && (tx.err != nil || len(tx.events) == 0) && epoch == e.epoch && !e.dropped {
		e.endTurn()
		if len(e.waiting) > 0 || e.changed != nil {
			e.advance()
		}
		return nil
	}
	c := &command[S, E]{ctx: ctx, tx: tx, phase: granted, epoch: epoch, attempts: 1, ticket: ticket}
	e.deciding = c
	return c
}

// finishTurn concludes a command that was run and has the turn.
func (e *entity[S, E]) finishTurn(c *command[S, E]) {
	returned := false
	defer func() {
		if !returned {
			e.exits(c)
		}
	}()
	e.conclude(c)
	returned = true
}

// runOnce runs a command. If events of other processes could change its result, runOnce checks for
// such events, and runs the command again if it finds any.
func (h *Entities[S, E]) runOnce(e *entity[S, E], c *command[S, E]) error {
	for asked := false; ; asked = true { // one check covers all writes before the call
		err := h.run(e, c)
		if asked || c.phase != ended || !c.mayBeOutdated(err) {
			return err
		}
		caughtUp, failed := h.refresh(c.ctx, e)
		if failed != nil {
			return failed
		}
		if !caughtUp {
			return err
		}
		c.phase, c.err = queued, nil
	}
}

// mayBeOutdated reports whether events of other processes could change the result of a command that
// has ended. That is so if the command has an id and recorded nothing, because no write has checked
// the id, or if it expects a version that this process has not seen yet.
func (c *command[S, E]) mayBeOutdated(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it is the error itself
	case *DuplicateError:
		return false
	case *dynajournal.VersionError:
		return e.Expected > e.Last
	}
	return c.options.ID != "" && c.encoded == nil
}

// timeForHooks returns the time if hooks need it.
func (h *Entities[S, E]) timeForHooks() time.Time {
	if len(h.options.Hooks) == 0 {
		return time.Time{}
	}
	return time.Now()
}

// ended counts a command that has ended, and calls the hooks.
func (h *Entities[S, E]) ended(c *command[S, E], pid string, err error) {
	if _, ok := err.(*DuplicateError); ok { //nolint:errorlint // it is the error itself
		h.counts.duplicates.Add(1)
	}
	for _, hook := range h.options.Hooks {
		if hook.OnCommand != nil {
			hook.OnCommand(c.ctx, Command{
				Type: h.kind.Name, PersistenceID: pid, Receipt: c.receipt, Attempts: c.attempts,
				Queued: c.queued, Duration: time.Since(c.started), Err: err,
			})
		}
	}
}

// run runs a command until it has its result, or its caller leaves.
func (h *Entities[S, E]) run(e *entity[S, E], c *command[S, E]) error {
	e, err := h.enter(e, c)
	if err != nil {
		return err
	}
	return h.finish(e, c)
}

// finish waits for the turn of a command that has entered, decides it, and waits for its result.
func (h *Entities[S, E]) finish(e *entity[S, E], c *command[S, E]) error {
	for {
		switch e.phaseOf(c) {
		case ended:
			return c.err
		case granted:
			e.decide(c)
			continue
		case sending:
			e.writeOwn(c)
			continue
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			if err, gone := e.leave(c, context.Cause(c.ctx)); gone {
				return err
			}
		case <-h.life.Done():
			if err, gone := e.leave(c, ErrClosed); gone {
				return err
			}
		}
	}
}

func (e *entity[S, E]) phaseOf(c *command[S, E]) phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return c.phase
}

// enter gives a command the turn if the turn is free, and enqueues the command otherwise. It
// returns the entity that the command has entered: e, or the replacement of e if e was dropped.
func (h *Entities[S, E]) enter(e *entity[S, E], c *command[S, E]) (*entity[S, E], error) {
	e.mu.Lock()
	for e.dropped {
		e.mu.Unlock()
		var err error
		if e, err = h.replace(e.id); err != nil {
			return nil, err
		}
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	e.tickets++
	c.ticket = e.tickets
	switch {
	case e.turnFree() && len(e.waiting) == 0 && e.mayDecide(c):
		if !e.grant(c) {
			e.startJob()
		}
		return e, nil
	case e.deciding != nil && kit.Inside():
		return nil, ErrReentrant
	case len(e.waiting) >= h.options.MaxWaiting:
		return nil, ErrBusy
	}
	e.enqueue(c)
	e.startJob()
	return e, nil
}

// withdraw takes a command out of the pending writes. The other commands of these writes are
// decided again. It reports false if the command is being written. The caller holds mu.
func (e *entity[S, E]) withdraw(c *command[S, E]) bool {
	if e.writing != nil && slices.Contains(e.writing.commands, c) {
		return false
	}
	e.sendBack(nil)
	return true
}

// leave withdraws a command whose caller stops waiting, and returns the error for the caller. It
// reports false if the command has already ended.
func (e *entity[S, E]) leave(c *command[S, E], cause error) (error, bool) { //nolint:revive // the error is the result
	e.mu.Lock()
	defer e.mu.Unlock()
	switch c.phase {
	case ended:
		return nil, false
	case granted:
		e.endTurn()
		if c.alone != nil {
			e.notify() // a view that waits for the purge to end continues
		}
	case queued:
		e.waiting = slices.DeleteFunc(e.waiting, func(other *command[S, E]) bool { return other == c })
	}
	sent := c.phase == decided && c.encoded != nil
	c.phase = left
	if sent && e.withdraw(c) {
		sent = false
	}
	e.advance()
	if sent {
		return &unknownError{e.pid, cause}, true
	}
	return &notWrittenError{e.pid, cause}, true
}
