package embedded

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errNoMemory is what a request gets that waited for room in the server's memory for too long.
var errNoMemory = errors.New("the server has no room for the request")

// requestMemory bounds the bytes that the large bodies of all requests, or their answers, hold
// together.
//
// Requests take room step by step, as their bytes arrive. Half-read ones could so wait for each
// other's room for ever. Therefore one of them at a time, the one that is exempt, gets what it asks
// for beyond the limit, and waits for nobody.
type requestMemory struct {
	limit int64
	wait  time.Duration

	lock sync.Mutex
	used int64
	// exempt is the request that may go beyond the limit, nil if there is none.
	exempt *reservation
	// waiting counts the requests that wait for room.
	waiting int
	// freed is closed when room is given back, and replaced.
	freed chan struct{}
}

// reservation is what one request holds of the memory. Only one goroutine uses it.
type reservation struct {
	memory *requestMemory
	held   int64
}

func newRequestMemory(limit int64, wait time.Duration) *requestMemory {
	return &requestMemory{limit: limit, wait: wait, freed: make(chan struct{})}
}

// take takes n bytes, and waits for them at most as long as a request waits.
func (r *reservation) take(ctx context.Context, n int64) error {
	m := r.memory
	if freed := m.try(r, n); freed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.wait, errNoMemory)
	defer cancel()
	m.count(1)
	defer m.count(-1)
	for {
		freed := m.try(r, n)
		if freed == nil {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (m *requestMemory) count(n int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.waiting += n
}

// try takes n bytes for the request and returns nil, or returns what is closed when it is worth
// trying again.
func (m *requestMemory) try(r *reservation, n int64) (freed <-chan struct{}) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.used+n > m.limit && m.exempt != r {
		if m.exempt != nil {
			return m.freed
		}
		m.exempt = r
	}
	m.used += n
	r.held += n
	return nil
}

// add takes n bytes that are in use already, or gives -n bytes back.
func (r *reservation) add(n int64) {
	m := r.memory
	m.lock.Lock()
	defer m.lock.Unlock()
	m.used += n
	r.held += n
	if n < 0 {
		m.wake()
	}
}

// release gives everything back.
func (r *reservation) release() {
	m := r.memory
	m.lock.Lock()
	defer m.lock.Unlock()
	if r.held == 0 && m.exempt != r {
		return
	}
	m.used -= r.held
	r.held = 0
	if m.exempt == r {
		m.exempt = nil
	}
	m.wake()
}

// wake lets those that wait try again. The caller holds the lock.
func (m *requestMemory) wake() {
	if m.waiting == 0 {
		return
	}
	close(m.freed)
	m.freed = make(chan struct{})
}

// usage returns how many bytes are held, and how many requests wait for more.
func (m *requestMemory) usage() (used int64, waiting int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.used, m.waiting
}
