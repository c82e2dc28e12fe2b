package entity

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// startCommand passes a command to the hooks, and notes when it was called if hooks need it.
func (h *Entities[S, E]) startCommand(c *command[S, E], id string) {
	c.begun = h.begun()
	for _, hook := range h.options.Hooks {
		if hook.StartCommand != nil {
			c.ctx = hook.StartCommand(c.ctx, CommandStart{h.kind.Name, h.kind.PersistenceID(id), c.options.ID}) //nolint:fatcontext // there are few hooks
		}
	}
}

// traces reports whether anybody receives the contexts of writes and recoveries.
func (h *Entities[S, E]) traces() bool {
	return len(h.options.Hooks) > 0 || h.core.Client.Observes()
}

// startWrite passes an attempt of a write to the hooks, and returns the context of the attempt.
func (e *entity[S, E]) startWrite(w *write[S, E]) context.Context {
	h := e.host
	if !h.traces() {
		return h.life
	}
	var recorders []context.Context
	e.mu.Lock()
	for _, c := range w.commands {
		if c.encoded != nil {
			recorders = append(recorders, c.ctx)
		}
	}
	e.mu.Unlock()
	ctx := h.life
	if len(recorders) == 1 {
		ctx = dynamo.WithValues(ctx, recorders[0])
	}
	for _, hook := range h.options.Hooks {
		if hook.StartWrite != nil {
			ctx = hook.StartWrite(ctx, WriteStart{h.kind.Name, e.pid, recorders, len(w.events)}) //nolint:fatcontext // as above
		}
	}
	return ctx
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
			ctx = hook.StartRecovery(ctx, RecoveryStart{e.host.kind.Name, e.pid}) //nolint:fatcontext // as above
		}
	}
	return ctx
}
