package embedded

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errNoMemory is the error of a request that has waited too long for the server's memory.
var errNoMemory = errors.New("the server has no memory for the request")

// requestMemory limits the bytes that the large bodies of all requests, or their responses, take
// together.
//
// Requests reserve memory step by step, as their bytes arrive. Partly read requests could therefore
// wait for each other forever. To prevent that, one request at a time is exempt: it can exceed the
// limit and never waits.
type requestMemory struct {
	limit int64
	wait  time.Duration

	lock sync.Mutex
	used int64
	// exempt is the request that can exceed the limit, or nil.
	exempt *reservation
	// waiting counts the requests that wait for memory.
	waiting int
	// freed is closed when memory is released, and replaced.
	freed chan struct{}
}

// reservation is the memory of one request. It is used by one goroutine.
type reservation struct {
	memory *requestMemory
	inUse  int64
}

func newRequestMemory(limit int64, wait time.Duration) *requestMemory {
	return &requestMemory{limit: limit, wait: wait, freed: make(chan struct{})}
}

// take reserves n bytes, and waits for them for a limited time.
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

// try reserves n bytes and returns nil, or returns a channel that is closed when it is worth trying
// again.
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
	r.inUse += n
	return nil
}

// add reserves n bytes that are in use already, or releases -n bytes.
func (r *reservation) add(n int64) {
	m := r.memory
	m.lock.Lock()
	defer m.lock.Unlock()
	m.used += n
	r.inUse += n
	if n < 0 {
		m.wake()
	}
}

// release releases all bytes.
func (r *reservation) release() {
	m := r.memory
	m.lock.Lock()
	defer m.lock.Unlock()
	if r.inUse == 0 && m.exempt != r {
		return
	}
	m.used -= r.inUse
	r.inUse = 0
	if m.exempt == r {
		m.exempt = nil
	}
	m.wake()
}

// wake wakes the waiting requests. The caller holds the lock.
func (m *requestMemory) wake() {
	if m.waiting == 0 {
		return
	}
	close(m.freed)
	m.freed = make(chan struct{})
}

// usage returns the number of reserved bytes, and of waiting requests.
func (m *requestMemory) usage() (used int64, waiting int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.used, m.waiting
}
