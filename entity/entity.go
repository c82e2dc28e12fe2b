package entity

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// point is a state and its version.
type point[S any] struct {
	state   S
	version int64
}

// entity is an entity in memory.
//
// Its invariants, while mu is not locked:
//
//   - durable contains exactly the stored events up to its version. Its state is never changed in
//     place, so it may be read without mu.
//   - At most one command is being decided, at most one write is in flight, and at most one job
//     runs (load, recovery, catch-up or writes). No job runs while a purge or a drop has the turn.
//   - A write is not sent while a command that is being decided changes the end state of the write
//     in place, because this state becomes the durable one.
//   - Each decided command with events is in exactly one write: writing, or one of pending. The
//     base of a write is the end of the write before it.
//   - A command returns only when the outcome of every event that it has read is known, unless it
//     has panicked: see ErrPanic.
type entity[S, E any] struct {
	// The fields that an in-memory view needs come first: with a small state they are in one cache
	// line. The other fields that a command without events needs are in the next two.

	// used is the value of Entities.uses at the last use. It is guarded by Entities.mu.
	used int64

	mu sync.Mutex
	// dropped reports that the entity was dropped from memory. Calls continue with its replacement.
	dropped    bool
	dropReason DropReason
	// loaded reports that durable is known.
	// blocked reports that no command may be decided, because a job is loading the state.
	// busy reports that a job runs.
	loaded, blocked, busy bool
	// reload reports that the state must be loaded again from the start.
	reload bool
	// saving reports that a snapshot is being saved. wanted reports that the next one is already
	// due.
	saving, wanted bool
	durable        point[S]

	host *Entities[S, E]
	// deciding is the command that is being decided, or nil.
	// epoch counts how often commands were sent back to be decided again. A decision made in an
	// earlier epoch is discarded.
	deciding *command[S, E]
	epoch    int64
	writing  *write[S, E]
	pending  []*write[S, E]
	// waiting has the commands that wait to be decided, in the order of their tickets.
	waiting []*command[S, E]
	tickets int64
	// next is the number after all numbers that are known to be taken.
	next int64
	// time is the time of the last event, in microseconds since 1970, or 0 if it is not known.
	time int64
	// changed is closed at the next change of the state. It is nil if nothing waits for a change.
	changed chan struct{}

	stage[S, E]
	// failure is the error for which the entity was dropped, or nil.
	failure error
	// deletedTo is the number up to which the events were deleted when durable was found.
	deletedTo int64
	// purged is the highest number that a purge had taken when durable was found. durable contains
	// no event up to it.
	purged int64
	// author is the writer of the event at durable.version, or empty if the writer is not known.
	author string
	// confirmed is when durable was last known to be current.
	confirmed moment
	// writer is nil if the next write has to recover first.
	writer writer
	ids    remembered
	// saved has the numbers of the snapshots that are known to exist, in ascending order. tried is
	// the number of the last snapshot that was attempted.
	saved []int64
	tried int64
	// conflicts counts the conflicts with other writers since the last successful write.
	conflicts int
}

// idle reports whether nothing uses the entity. The caller holds mu.
func (e *entity[S, E]) idle() bool {
	return !e.busy && !e.saving && e.deciding == nil && len(e.waiting) == 0 && e.writing == nil && len(e.pending) == 0
}

// current returns the state after all decided commands. The caller holds mu.
func (e *entity[S, E]) current() point[S] {
	switch {
	case len(e.pending) > 0:
		return e.pending[len(e.pending)-1].end
	case e.writing != nil:
		return e.writing.end
	}
	return e.durable
}

// notify wakes the views that wait. The caller holds mu.
func (e *entity[S, E]) notify() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// awaitChange returns a channel that is closed at the next change. The caller holds mu.
func (e *entity[S, E]) awaitChange() <-chan struct{} {
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

// enqueue inserts a command by its ticket. The caller holds mu.
func (e *entity[S, E]) enqueue(c *command[S, E]) {
	c.phase = queued
	c.mustWait()
	if n := len(e.waiting); n == 0 || e.waiting[n-1].ticket < c.ticket {
		e.waiting = append(e.waiting, c)
		return
	}
	at, _ := slices.BinarySearchFunc(e.waiting, c, func(a, b *command[S, E]) int { return cmp.Compare(a.ticket, b.ticket) })
	e.waiting = slices.Insert(e.waiting, at, c)
}

// advance gives the turn to the next command, if one may be decided, and starts the job that is
// due. Everything that changes the entity calls it last. The caller holds mu.
func (e *entity[S, E]) advance() {
	if e.mayWrite() {
		e.startJob() // before another command joins the write
	}
	for e.turnFree() && len(e.waiting) > 0 && e.mayDecide(e.waiting[0]) {
		c := e.waiting[0]
		e.waiting[0] = nil
		e.waiting = e.waiting[1:]
		if e.grant(c) {
			c.signal()
		}
	}
	e.startJob()
}

// turnFree reports whether no command is being decided. The caller holds mu.
func (e *entity[S, E]) turnFree() bool { return e.deciding == nil }

// isAlone reports whether a purge or a drop has the turn. The caller holds mu.
func (e *entity[S, E]) isAlone() bool { return e.deciding != nil && e.deciding.alone != nil }

// mayDecide reports whether a command may be decided now. The caller holds mu.
func (e *entity[S, E]) mayDecide(c *command[S, E]) bool {
	if c.alone != nil {
		return !e.busy && !e.saving && e.writing == nil && len(e.pending) == 0
	}
	if !e.loaded || e.blocked || e.reload || e.dropped {
		return false
	}
	// Commands gather in a pending write. A full one is sent before more commands are decided.
	switch {
	case len(e.pending) == 0:
		return true
	case len(e.pending) > 1 || e.host.options.Join.Mode == JoinOff || c.single:
		return false
	}
	return e.pending[0].hasRoom(&e.host.options.Join)
}

// startJob starts the job that is due, if none runs. The caller holds mu.
func (e *entity[S, E]) startJob() {
	switch {
	case e.busy || e.dropped || e.isAlone():
	case !e.loaded || e.reload:
		if e.reload && e.deciding != nil {
			return // the command may still use the state that is given up
		}
		if commands := len(e.waiting) > 0; commands || e.changed != nil {
			e.blocked = true
			e.runAsync(func() { e.load(commands) })
		}
	case e.mayWrite():
		e.takePending()
		e.runAsync(e.writeAll)
	}
}

// mayWrite reports whether the first pending write may be sent. The caller holds mu.
func (e *entity[S, E]) mayWrite() bool {
	return len(e.pending) > 0 && (e.deciding == nil || !e.deciding.inPlace)
}

// takePending moves the first pending write to e.writing. The caller holds mu.
func (e *entity[S, E]) takePending() {
	e.writing = e.pending[0]
	e.pending = slices.Delete(e.pending, 0, 1)
}

// runAsync starts a job. The caller holds mu.
func (e *entity[S, E]) runAsync(job func()) {
	e.busy = true
	e.host.jobs.Add(1)
	go e.runJob(job)
}

// runJob runs a job in its own goroutine.
func (e *entity[S, E]) runJob(job func()) {
	defer e.host.jobs.Done()
	returned := false
	defer func() {
		if !returned {
			e.exited()
		}
	}()
	job()
	returned = true
}

// errExited reports that a function of the type has called runtime.Goexit.
var errExited = errors.New("a function of the type has ended its goroutine")

// exited ends a job whose goroutine exits.
func (e *entity[S, E]) exited() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	e.fail(errExited)
}

// sendBack queues commands to be decided again, together with the commands of all pending writes,
// which were decided on the state of the former. The caller holds mu.
func (e *entity[S, E]) sendBack(commands []*command[S, E]) {
	e.epoch++
	for _, w := range e.pending {
		commands = append(commands, w.commands...)
	}
	e.pending = nil
	for _, c := range commands {
		if c.phase == decided {
			e.enqueue(c)
		}
	}
}
