package entity

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/internal/core"
)

// phase is the state of a command: see doc.go.
type phase int

const (
	// queued commands wait to be decided.
	queued phase = iota
	// granted is the phase of the command that has the turn. Its caller decides it.
	granted
	// sending is the phase of a command whose caller writes its events.
	sending
	// decided commands wait until their events, or the events that they have read, are durable.
	decided
	// ended commands have their result.
	ended
	// left commands have no caller any more. They are not decided again.
	left
)

// command is a caller's command. Its fields are guarded by entity.mu, except for tx while the
// caller decides.
type command[S, E any] struct {
	ctx     context.Context //nolint:containedctx // the caller's; only the caller's goroutine uses it
	options commandOptions
	hash    commandids.Hash
	tx      *Tx[S, E]
	// alone, if set, is called in the turn instead of deciding: it does the work of a purge or a
	// drop.
	alone func()
	// single demands a write of its own.
	single bool

	phase  phase
	ticket int64
	epoch  int64
	// attempts counts how often the command was decided. conflicts counts how often another writer
	// was faster.
	attempts, conflicts int
	// started is when the command was called, and queued is how long it has waited for its first
	// turn, if hooks need them.
	started time.Time
	queued  time.Duration
	// wake has a token when the phase has become granted or ended. It is nil if the caller has
	// never had to wait.
	wake    chan struct{}
	receipt Receipt
	err     error

	// encoded has the events as arguments of Append. size is their total size in bytes.
	// created is the event that is being encoded, and one is the backing array of encoded for a
	// single event: both save an allocation.
	encoded []encoded
	size    int
	created core.New
	one     [1]encoded
	// first is the index of the first event in its write.
	first int
	// inPlace reports that Evolve changes the state of the last pending write.
	inPlace bool
}

// signal wakes the caller. One token is enough: the caller checks the phase.
func (c *command[S, E]) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// mustWait prepares a command for a caller that is going to wait.
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

// grant gives a command the turn. It reports false if the command does not need the turn, because
// the state already decides its result. The caller holds mu.
func (e *entity[S, E]) grant(c *command[S, E]) bool {
	c.phase, c.epoch = granted, e.epoch
	if c.alone != nil {
		e.deciding = c
		return true
	}
	tx := e.transaction(c.tx.command)
	tx.frozen = !e.joins(c)
	c.tx, c.inPlace = tx, !tx.frozen && tx.stage.kind.Copy != nil
	if c.attempts++; c.attempts == 1 && !c.started.IsZero() {
		c.queued = time.Since(c.started)
	}
	if err := e.refuse(c, tx.version); err != nil {
		tx.err = err
		e.place(c)
		return false
	}
	e.deciding = c
	return true
}

// transaction returns the Tx of a command on the current state. The caller holds mu.
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

// refuse returns the error of a command that must not run on the state, or nil if it may run. The
// caller holds mu.
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

// findID returns the version that the command with an id has led to, durable or not. The caller
// holds mu.
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

// exits ends a command whose goroutine exits, for example by testing.T.FailNow. No caller receives
// its result.
func (e *entity[S, E]) exits(c *command[S, E]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.phase = left
	e.endTurn()
	e.scheduleReload()
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
		c.end(&notWrittenError{e.pid, e.failure})
	case panicked:
		c.end(failed)
		e.scheduleReload()
	case c.ctx.Err() != nil:
		c.end(&notWrittenError{e.pid, context.Cause(c.ctx)})
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

// scheduleReload makes the entity load its state again from the start, because a function of the
// program may have changed it. Commands that were decided on the state, and are not being written,
// are decided again. The caller holds mu.
func (e *entity[S, E]) scheduleReload() {
	e.sendBack(nil)
	e.reload = true
}

// place adds a decided command to the write whose outcome it waits for, or ends the command. The
// caller holds mu.
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

// placeReader adds a command that has recorded nothing, or has failed, to the last write: the state
// that it has read is durable only after this write. If no write is pending or in flight, the
// command ends. The caller holds mu.
func (e *entity[S, E]) placeReader(c *command[S, E]) {
	c.receipt = Receipt{Version: c.tx.version} // counts recorded events only if it has failed
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
		e.scheduleReload()
	}
}

// changed reports whether the command has changed the state. (After a panic of Evolve the state is
// loaded again anyway.)
func (c *command[S, E]) changed() bool { return len(c.tx.events) > 0 }
