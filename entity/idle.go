package entity

import (
	"time"
)

// sweepsPerTimeout is the number of sweeps within Options.IdleTimeout.
const sweepsPerTimeout = 4

// sampled is the number of entities that are compared to find the least recently used one.
const sampled = 32

// dropOldest drops the least recently used idle entity of a random sample. If there are few
// entities, the sample has all of them. Otherwise the entity is only one of the oldest, because a
// sorted list of all entities would cost each call more than it is worth. The caller holds h.mu.
func (h *Entities[S, E]) dropOldest(except *entity[S, E]) {
	var tried []*entity[S, E]
	for _, e := range h.loaded { // in random order
		if e != except {
			tried = append(tried, e)
		}
		if len(tried) == sampled {
			break
		}
	}
	for len(tried) > 0 {
		oldest := 0
		for i, e := range tried {
			if e.used < tried[oldest].used {
				oldest = i
			}
		}
		if h.dropIdle(tried[oldest], DropFull) {
			return
		}
		tried[oldest] = tried[len(tried)-1]
		tried = tried[:len(tried)-1]
	}
}

// dropIdle drops an entity if it is idle. The caller holds h.mu.
func (h *Entities[S, E]) dropIdle(e *entity[S, E], reason DropReason) bool {
	if !e.mu.TryLock() {
		return false
	}
	idle := e.idle()
	if idle {
		e.drop(reason)
	}
	e.mu.Unlock()
	if idle {
		h.remove(e)
	}
	return idle
}

// drop marks an entity as dropped. Calls that wait for it to be loaded continue with its
// replacement. The caller holds mu.
func (e *entity[S, E]) drop(reason DropReason) {
	e.dropped, e.dropReason = true, reason
	e.notify()
}

// remove removes an entity that was dropped. The caller holds h.mu.
func (h *Entities[S, E]) remove(e *entity[S, E]) {
	if h.loaded[e.id] != e {
		return
	}
	delete(h.loaded, e.id)
	h.counts.dropped.Add(1)
	for _, hook := range h.options.Hooks {
		if hook.OnDrop != nil {
			hook.OnDrop(h.life, Drop{h.kind.Name, e.pid, e.dropReason})
		}
	}
}

// forget removes an entity that was dropped.
func (h *Entities[S, E]) forget(e *entity[S, E]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(e)
}

// sweep drops the entities that were idle for longer than Options.IdleTimeout.
func (h *Entities[S, E]) sweep() {
	ticker := time.NewTicker(max(h.options.IdleTimeout/sweepsPerTimeout, 1))
	defer ticker.Stop()
	// before has the number of uses at each of the last sweeps, the oldest first.
	before := make([]int64, 0, sweepsPerTimeout+1)
	for {
		select {
		case <-ticker.C:
			before = append(before, h.useCount())
			if len(before) > sweepsPerTimeout {
				h.dropUnused(before[0])
				before = append(before[:0], before[1:]...)
			}
		case <-h.life.Done():
			return
		}
	}
}

func (h *Entities[S, E]) useCount() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uses
}

// sweptAtOnce is the number of entities that a sweep visits before it unlocks h.mu for calls.
const sweptAtOnce = 1000

// dropUnused drops the idle entities that were not used after since, a number of uses.
func (h *Entities[S, E]) dropUnused(since int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.loaded {
		if e.used <= since {
			h.dropIdle(e, DropIdle)
		}
		if n++; n%sweptAtOnce == 0 {
			h.mu.Unlock()
			h.mu.Lock()
		}
	}
}
