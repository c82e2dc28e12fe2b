package embedded

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// staleSteps is the number of states that are retained for the delay of a fault.
const staleSteps = 16

// staleStates retains past states of the store for stale reads. The lock of the injector guards it.
// A nil staleStates has no states.
//
// A state is taken before the first request that is due for one. The first state at or after a
// moment is therefore the state of that moment, or one that is younger by up to a sixteenth of the
// delay.
type staleStates struct {
	store *storage.Store
	delay time.Duration
	// states has the oldest first. Without a delay it has only the state at the injection.
	states []*sharedSnapshot
}

// sharedSnapshot is a snapshot that is closed when staleStates and the last reader have released
// it.
type sharedSnapshot struct {
	*storage.Snapshot

	at         time.Time
	references atomic.Int64
}

func newStaleStates(store *storage.Store, delay time.Duration, now time.Time) *staleStates {
	p := &staleStates{store: store, delay: delay}
	p.snapshot(now)
	return p
}

func (p *staleStates) snapshot(now time.Time) {
	state := &sharedSnapshot{Snapshot: p.store.Snapshot(), at: now}
	state.references.Store(1)
	p.states = append(p.states, state)
}

// advance takes a snapshot if the last one is old enough, and releases snapshots that are too old.
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

// stateAt returns the state for a read at the time now, or nil for the present state. The reader
// must release it.
func (p *staleStates) stateAt(now time.Time) *sharedSnapshot {
	if p == nil {
		return nil
	}
	for _, state := range p.states {
		if p.delay == 0 || !state.at.Before(now.Add(-p.delay)) {
			state.references.Add(1)
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

// release releases one hold on the snapshot. It does nothing if s is nil.
func (s *sharedSnapshot) release() {
	if s == nil || s.references.Add(-1) > 0 {
		return
	}
	if err := s.Close(); err != nil {
		slog.Error("embedded DynamoDB: releasing a past state failed", "error", err)
	}
}

// reader returns the state from which a request reads the table or an index of it: the present
// state, or a past one because of a fault. The fault does not apply to strongly consistent reads of
// the request, or to tables that it does not match.
func (c *call) reader(e *Engine, t *table, consistent bool) storage.Reader {
	c.reads = true
	s := c.fault
	if s == nil || s.stale == nil || consistent || !matches(s.Table, t.Name) {
		return e.store.Reader
	}
	return s.stale.Reader
}
