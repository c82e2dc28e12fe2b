package dynamo

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of the time without shared requests after access was denied.
const (
	firstDenial   = time.Minute
	longestDenial = time.Hour
)

// sharing decides whether writers may share requests. It ends for good if the service turns out not
// to know PartiQL. Access that was denied can be granted while the program runs, so a shared
// request is sent again after a pause.
type sharing struct {
	// off is true if any of the fields below is set. Most requests read nothing else.
	off atomic.Bool

	mu    sync.Mutex
	never bool
	// until is the end of the pause, pause its length.
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

// refused ends sharing after a request was refused: for a pause if access was denied, else for
// good. It reports whether sharing was on before.
func (s *sharing) refused(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasOn := !s.off.Load()
	s.off.Store(true)
	switch now := time.Now(); {
	case !errors.Is(err, ErrDenied):
		s.never = true
	case !now.Before(s.until): // else a concurrent request has begun the pause
		s.pause = min(max(2*s.pause, firstDenial), longestDenial)
		s.until = now.Add(s.pause)
	}
	return wasOn
}

// accepted ends the pause after a shared request was accepted. It reports whether there was one.
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

// refused ends sharing, as the service does not know or allow PartiQL.
func (g *Group) refused(reason, err error) {
	if g.sharing.refused(reason) {
		g.opts.Refused(err)
	}
}

// accepted begins sharing again, as the service has accepted PartiQL.
func (g *Group) accepted() {
	if g.sharing.accepted() && g.opts.Accepted != nil {
		g.opts.Accepted()
	}
}
