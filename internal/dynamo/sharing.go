package dynamo

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of how long writers do not share requests after access was denied.
const (
	firstDenial   = time.Minute
	longestDenial = time.Hour
)

// sharing is whether writers may share requests. A service that does not know PartiQL never will.
// Access that is denied can be granted while the program runs, and denied by mistake, so it is
// tried again after a while.
type sharing struct {
	// off is whether any of what follows is set: most requests look at nothing else.
	off atomic.Bool

	mu    sync.Mutex
	never bool
	// until is when a shared request is tried again, pause how long the last wait for that was.
	until time.Time
	pause time.Duration
}

// allowed reports whether writers may share requests now.
func (s *sharing) allowed() bool {
	if !s.off.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.never && !time.Now().Before(s.until)
}

// forbid ends sharing for good.
func (s *sharing) forbid() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.never = true
	s.off.Store(true)
}

// refused ends sharing after a request was refused: for a while if access was denied, else for
// good. It reports whether sharing was on before.
func (s *sharing) refused(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasOn := !s.off.Load()
	s.off.Store(true)
	switch now := time.Now(); {
	case !errors.Is(err, ErrDenied):
		s.never = true
	case !now.Before(s.until): // else it is known already, by a request that was sent at the same time
		s.pause = min(max(2*s.pause, firstDenial), longestDenial)
		s.until = now.Add(s.pause)
	}
	return wasOn
}

// accepted takes note of a shared request that was accepted. It reports whether sharing was off
// before.
func (s *sharing) accepted() bool {
	if !s.off.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.never || !s.off.Load() {
		return false
	}
	s.pause, s.until = 0, time.Time{}
	s.off.Store(false)
	return true
}
