package entity

import (
	"github.com/dynajournal/dynajournal/internal/core"
)

// The caller of a command that is alone performs the write of the command. The caller waits for the
// write anyway, and another goroutine would have to be woken by the response and then wake the
// caller. The caller only starts the write and handles its success. A job does everything else,
// including the write of a caller that has left.

// takeOwn lets the caller of a placed command write its events, if no other write is before them
// and no other command is in the write. The caller holds mu.
func (e *entity[S, E]) takeOwn(c *command[S, E]) {
	alone := c.phase == decided && c.encoded != nil && len(e.pending) == 1 && len(e.pending[0].commands) == 1
	_, appends := e.writer.(eventWriter)
	if !alone || e.busy || e.dropped || e.reload || !appends || !e.mayWrite() {
		c.mustWait()
		return
	}
	e.takePending()
	e.busy, c.phase = true, sending
}

// writeOwn writes the events of a command in the goroutine of its caller. It returns when the write
// has succeeded, or was handed over to a job.
func (e *entity[S, E]) writeOwn(c *command[S, E]) {
	returned := false
	defer func() {
		if !returned { // a hook has panicked
			e.exited()
		}
	}()
	e.writeOrHandOver(c)
	returned = true
}

func (e *entity[S, E]) writeOrHandOver(c *command[S, E]) {
	h := e.host
	e.mu.Lock()
	w := e.writing
	writer, _ := e.writer.(eventWriter) // takeOwn has found one
	e.mu.Unlock()
	start := h.moment()
	e.startWrite(w)
	started := writer.Start(w.ctx, eventsOf(w.events))
	if started == nil {
		e.handOver(c, e.writeAll)
		return
	}
	select {
	case <-started.Done():
	case <-c.ctx.Done():
	case <-h.life.Done():
	}
	if !started.Succeeded() {
		e.handOver(c, func() {
			result, err := started.Finish()
			e.finishAndWriteAll(w, writer, start, &result, err)
		})
		return
	}
	result, err := started.Finish()
	if err != nil {
		e.handOver(c, func() { e.finishAndWriteAll(w, writer, start, &core.Result{}, err) })
		return
	}
	e.handleOutcome(w, writer, start, &result, nil)
	e.continueAsJob()
}

// finishAndWriteAll is the job that completes a write that a caller has started, and then sends the
// pending writes.
func (e *entity[S, E]) finishAndWriteAll(
	w *write[S, E], by writer, start moment, result *core.Result, err error,
) {
	e.handleOutcome(w, by, start, result, err)
	if e.writeNext() {
		e.writeAll()
	}
}

// handOver lets a job continue a caller's write, so that the caller can leave.
func (e *entity[S, E]) handOver(c *command[S, E], job func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.phase = decided
	c.mustWait()
	e.runAsync(job)
}

// continueAsJob ends a caller's write. A job sends the writes that are pending.
func (e *entity[S, E]) continueAsJob() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	e.advance()
}
