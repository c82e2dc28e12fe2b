package embedded

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// staleSteps is how many states of the past are kept over a fault's delay.
const staleSteps = 16

// staleStates keeps states of the store for stale answers. It is used under the injector's lock; a
// nil past has no states.
//
// A state is taken before the request that comes at its time. So the first state at or after a
// moment is the one that the moment had, or one that is up to a sixteenth of the delay younger.
type staleStates struct {
	store *storage.Store
	delay time.Duration
	// states has the oldest first. With no delay it is the one at the injection, for ever.
	states []*sharedSnapshot
}

// sharedSnapshot is a state that is closed when the past and the last reader have let it go.
type sharedSnapshot struct {
	*storage.Snapshot

	at    time.Time
	holds atomic.Int64
}

func newStaleStates(store *storage.Store, delay time.Duration, now time.Time) *staleStates {
	p := &staleStates{store: store, delay: delay}
	p.snapshot(now)
	return p
}

func (p *staleStates) snapshot(now time.Time) {
	state := &sharedSnapshot{Snapshot: p.store.Snapshot(), at: now}
	state.holds.Store(1)
	p.states = append(p.states, state)
}

// advance takes the present state if the last one is old enough, and forgets those that are too
// old.
func (p *staleStates) advance(now time.Time) {
	if p == nil || p.delay == 0 {
		return
	}
	for len(p.states) > 0 && p.states[0].at.Before(now.Add(-p.delay)) {
		p.states[0].release()
		p.states = p.states[1:]
	}
	if n := len(p.states); n == 0 || now.Sub(p.states[n-1].at) >= p.delay/staleSteps {
		p.snapshot(now)
	}
}

// stateAt returns the state for a read now, held for the reader; nil is the present one.
func (p *staleStates) stateAt(now time.Time) *sharedSnapshot {
	if p == nil {
		return nil
	}
	for _, state := range p.states {
		if p.delay == 0 || !state.at.Before(now.Add(-p.delay)) {
			state.holds.Add(1)
			return state
		}
	}
	return nil
}

func (p *staleStates) close() {
	if p == nil {
		return
	}
	for _, state := range p.states {
		state.release()
	}
	p.states = nil
}

// release lets the state go once; nil is nothing to let go.
func (s *sharedSnapshot) release() {
	if s == nil || s.holds.Add(-1) > 0 {
		return
	}
	if err := s.Close(); err != nil {
		slog.Error("embedded DynamoDB: letting a past state go", "error", err)
	}
}

// reader returns where a request reads the table, or an index of it, from: the present, or the past
// if a fault says so. Of a request that reads several tables, some may be strongly consistent or
// not be meant.
func (c *call) reader(e *Engine, t *table, consistent bool) storage.Reader {
	c.reads = true
	s := c.fault
	if s == nil || s.stale == nil || consistent || !matches(s.Table, t.Name) {
		return e.store.Reader
	}
	return s.stale.Reader
}
