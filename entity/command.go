package entity

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
)

// phase is where a command is.
type phase int

const (
	// queued: it waits to be decided.
	queued phase = iota
	// granted: it has the turn; its caller decides it.
	granted
	// sending: its caller writes its events.
	sending
	// decided: it waits for its events, or for those that it has read.
	decided
	// ended: its result is there.
	ended
	// left: its caller has gone. It is not decided again.
	left
)

// command is a command of a caller. Its fields belong to the holder of entity.mu, but for tx while
// the caller decides.
type command[S, E any] struct {
	ctx     context.Context //nolint:containedctx // the caller's, which the command outlives by nothing
	options commandOptions
	hash    commandids.Hash
	tx      *Tx[S, E]
	// alone, if set, is what a purge or a drop does in the turn instead of deciding.
	alone func()
	// single demands a write of its own.
	single bool

	phase  phase
	ticket int64
	epoch  int64
	// attempts is how often it was decided, conflicts how often another writer was faster then.
	attempts, conflicts int
	// wake has a token when the phase has become granted or ended. It is nil if the caller never
	// had to wait.
	wake    chan struct{}
	receipt Receipt
	err     error

	// encoded are the events as arguments of Append, size is theirs. created is the event that is
	// being encoded, and one the place of a single one: both save an allocation.
	encoded []encoded
	size    int
	created core.New
	one     [1]encoded
	// first is the index of its first event in its write.
	first int
	// inPlace reports that Evolve changes the state of the last pending write.
	inPlace bool
}

// signal wakes the caller. One token is enough: the caller looks at the phase.
func (c *command[S, E]) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// mustWait prepares a command whose caller is going to wait.
func (c *command[S, E]) mustWait() {
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
}

// end sets the result of a command, and wakes its caller. The caller holds mu.
func (c *command[S, E]) end(err error) {
	if c.phase == left {
		return
	}
	c.phase, c.err = ended, err
	if err != nil {
		c.receipt = Receipt{}
	}
	c.signal()
}

// grant gives a command the turn. It reports false if the command needs none, as its result is
// known from the state. The caller holds mu.
func (e *entity[S, E]) grant(c *command[S, E]) bool {
	c.phase, c.epoch = granted, e.epoch
	if c.alone != nil {
		e.deciding = c
		return true
	}
	tx := e.transaction(c.tx.command)
	tx.frozen = !e.joins(c)
	c.tx, c.inPlace = tx, !tx.frozen && tx.stage.kind.Copy != nil
	c.attempts++
	if err := e.refuse(c, tx.version); err != nil {
		tx.err = err
		e.place(c)
		return false
	}
	e.deciding = c
	return true
}

// transaction returns what a command decides with on the current state. The caller holds mu.
func (e *entity[S, E]) transaction(command func(*Tx[S, E]) error) *Tx[S, E] {
	at := e.current()
	return &Tx[S, E]{
		stage: &e.stage, state: at.state, version: at.version, next: e.nextNumber(), frozen: true, now: -e.lastTime(),
		command: command,
	}
}

// nextNumber returns the sequence number of the next event that is decided. Numbers after the last
// event can be taken by seals. The caller holds mu.
func (e *entity[S, E]) nextNumber() int64 {
	if e.writing == nil && len(e.pending) == 0 {
		return e.next
	}
	return e.current().version + 1
}

// joins reports whether a command may be written with the last pending write. The caller holds mu.
func (e *entity[S, E]) joins(c *command[S, E]) bool {
	return len(e.pending) > 0 && !c.single && e.host.options.Join.Mode != JoinOff
}

// lastTime returns the time of the last event, in microseconds. The caller holds mu.
func (e *entity[S, E]) lastTime() int64 {
	switch {
	case len(e.pending) > 0:
		return e.pending[len(e.pending)-1].time
	case e.writing != nil:
		return e.writing.time
	}
	return e.time
}

// refuse returns why a command is not run on the state, nil if it is. The caller holds mu.
func (e *entity[S, E]) refuse(c *command[S, E], version int64) error {
	if c.options.ID != "" {
		if done, ok := e.findID(c.hash); ok {
			return &DuplicateError{PersistenceID: e.pid, CommandID: c.options.ID, Version: done}
		}
	}
	if c.options.Demands && c.options.At != version {
		return &dynajournal.VersionError{PersistenceID: e.pid, Expected: c.options.At, Last: version}
	}
	return nil
}

// findID returns the version that a command has led to, durable or not. The caller holds mu.
func (e *entity[S, E]) findID(hash commandids.Hash) (int64, bool) {
	if version, ok := e.ids.find(hash); ok {
		return version, ok
	}
	for _, w := range e.pending {
		if version, ok := w.findID(hash); ok {
			return version, true
		}
	}
	if e.writing != nil {
		return e.writing.findID(hash)
	}
	return 0, false
}

// decide runs a command that has the turn, in its caller's goroutine, and places it.
func (e *entity[S, E]) decide(c *command[S, E]) {
	if c.alone != nil {
		c.alone()
		return
	}
	returned := false
	defer func() {
		if !returned {
			e.exits(c)
		}
	}()
	c.tx.run()
	e.conclude(c)
	returned = true
}

// exits ends a command whose goroutine exits, as by testing.T.FailNow. Nobody takes its result.
func (e *entity[S, E]) exits(c *command[S, E]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.phase = left
	e.endTurn()
	e.giveUp()
	e.advance()
}

// conclude encodes the events of a command that was run, and places it.
func (e *entity[S, E]) conclude(c *command[S, E]) {
	if c.tx.err == nil && len(c.tx.events) > 0 && c.ctx.Err() == nil {
		c.tx.err = guard(e.pid, func() error { return e.host.storage.encode(e, c) })
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endTurn()
	switch failed, panicked := c.tx.err.(*PanicError); { //nolint:errorlint // it is the error itself
	case e.dropped:
		c.end(&unwritten{e.pid, e.failure})
	case panicked:
		c.end(failed)
		e.giveUp()
	case c.ctx.Err() != nil:
		c.end(&unwritten{e.pid, context.Cause(c.ctx)})
		e.undo(c)
	case c.epoch != e.epoch:
		e.enqueue(c)
	default:
		e.place(c)
		e.takeOwn(c)
	}
	e.advance()
}

// endTurn takes the turn back. The caller holds mu.
func (e *entity[S, E]) endTurn() { e.deciding = nil }

// giveUp finds the state again from the start, because a function of the program may have left it
// changed. Commands that were decided on it, and are not being written, are decided again. The
// caller holds mu.
func (e *entity[S, E]) giveUp() {
	e.sendBack(nil)
	e.reload = true
}

// place puts a command that was decided where it waits for its result, or ends it. The caller holds
// mu.
func (e *entity[S, E]) place(c *command[S, E]) {
	c.phase = decided
	if c.tx.err != nil || len(c.tx.events) == 0 {
		e.placeReader(c)
		return
	}
	c.receipt = Receipt{Version: c.tx.version, Events: len(c.tx.events)}
	if n := len(e.pending); n > 0 && e.joins(c) && e.pending[n-1].fits(c, &e.host.options.Join) {
		e.pending[n-1].add(c)
		return
	}
	e.undo(c) // Evolve has changed the state of the write that the command does not join
	w := &write[S, E]{base: e.current(), first: e.nextNumber()}
	w.add(c)
	e.pending = append(e.pending, w)
}

// placeReader lets a command that has recorded nothing wait for the last write: it has read a state
// that is not durable before. The caller holds mu.
func (e *entity[S, E]) placeReader(c *command[S, E]) {
	c.receipt = Receipt{Version: c.tx.version} // what it has recorded counts only if it has failed
	e.undo(c)
	c.encoded = nil
	switch n := len(e.pending); {
	case n > 0:
		c.mustWait()
		e.pending[n-1].commands = append(e.pending[n-1].commands, c)
	case e.writing != nil:
		c.mustWait()
		e.writing.commands = append(e.writing.commands, c)
	default:
		c.end(c.tx.err)
	}
}

// undo restores the state of the last pending write, if a command that is not part of it may have
// changed it in place. The caller holds mu.
func (e *entity[S, E]) undo(c *command[S, E]) {
	n := len(e.pending)
	if n == 0 || !c.inPlace || c.epoch != e.epoch || !c.changed() {
		return
	}
	if !e.pending[n-1].rebuild(&e.host.kind) {
		e.giveUp()
	}
}

// changed reports whether the command has changed the state. (After a panic of Evolve the state is
// found again anyway.)
func (c *command[S, E]) changed() bool { return len(c.tx.events) > 0 }
