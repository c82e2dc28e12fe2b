package entity

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// startCommand passes a command to the hooks, and notes when it was called if hooks need it.
func (h *Entities[S, E]) startCommand(c *command[S, E], pid string) {
	c.started = h.timeForHooks()
	for _, hook := range h.options.Hooks {
		if hook.StartCommand != nil {
			c.ctx = hook.StartCommand(c.ctx, CommandStart{h.kind.Name, pid, c.options.ID}) //nolint:fatcontext // there are few hooks
		}
	}
}

// traces reports whether anybody receives the contexts of writes and recoveries.
func (h *Entities[S, E]) traces() bool {
	return len(h.options.Hooks) > 0 || h.core.Client.Observes()
}

// recorders returns the contexts of the commands that have recorded the events of a write.
func (e *entity[S, E]) recorders(w *write[S, E]) []context.Context {
	var all []context.Context
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range w.commands {
		if c.encoded != nil {
			all = append(all, c.ctx)
		}
	}
	return all
}

// contextOf returns a context with the values of the only command that has recorded the events of a
// write. If there are several commands, the context has none of their values.
func (e *entity[S, E]) contextOf(w *write[S, E]) context.Context {
	if !e.host.traces() {
		return e.host.life
	}
	return e.withOnly(e.recorders(w))
}

// withOnly returns a context with the values of one context, or with no values of several contexts.
func (e *entity[S, E]) withOnly(contexts []context.Context) context.Context {
	if len(contexts) != 1 {
		return e.host.life
	}
	return dynamo.WithValues(e.host.life, contexts[0])
}

// startWrite passes a write to the hooks before it is sent, unless a caller has tried to send it
// before.
func (e *entity[S, E]) startWrite(w *write[S, E]) {
	if w.ctx != nil {
		return
	}
	h := e.host
	w.sent, w.ctx = h.timeForHooks(), h.life
	if !h.traces() {
		return
	}
	start := WriteStart{h.kind.Name, e.pid, e.recorders(w), len(w.events)}
	w.ctx = e.withOnly(start.Commands)
	for _, hook := range h.options.Hooks {
		if hook.StartWrite != nil {
			w.ctx = hook.StartWrite(w.ctx, start) //nolint:fatcontext // there are few hooks
		}
	}
}

// contextOfLoad returns the context for loading the entity: the first command that waits has caused
// it.
func (e *entity[S, E]) contextOfLoad() context.Context {
	h := e.host
	if !h.traces() {
		return h.life
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) == 0 {
		return h.life
	}
	return dynamo.WithValues(h.life, e.waiting[0].ctx)
}

// startRecovery passes a recovery to the hooks, and returns its context.
func (e *entity[S, E]) startRecovery(ctx context.Context) context.Context {
	for _, hook := range e.host.options.Hooks {
		if hook.StartRecovery != nil {
			ctx = hook.StartRecovery(ctx, RecoveryStart{e.host.kind.Name, e.pid}) //nolint:fatcontext // there are few hooks
		}
	}
	return ctx
}
