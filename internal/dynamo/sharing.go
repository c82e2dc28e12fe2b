package dynamo

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the time without shared requests after access was denied.
const (
	firstDenial   = time.Minute
	longestDenial = time.Hour
)

// sharing decides whether writers may share requests. Sharing stops permanently if the service does
// not know PartiQL. If access was denied, a shared request is tried again after a pause, because
// access can be granted while the program runs.
type sharing struct {
	// off is true if any of the fields below is set. Most requests read only this field.
	off atomic.Bool

	mu    sync.Mutex
	never bool
	// until is the end of the pause. pause is its length.
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

// forbid stops sharing permanently.
func (s *sharing) forbid() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.never = true
	s.off.Store(true)
}

// refused stops sharing after a request was refused: for a pause if access was denied, otherwise
// permanently. It reports whether sharing was on before.
func (s *sharing) refused(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasOn := !s.off.Load()
	s.off.Store(true)
	switch now := time.Now(); {
	case !errors.Is(err, ErrDenied):
		s.never = true
	case !now.Before(s.until): // otherwise a concurrent request has started the pause
		s.pause = min(max(2*s.pause, firstDenial), longestDenial)
		s.until = now.Add(s.pause)
	}
	return wasOn
}

// accepted ends the pause after a shared request was accepted. It reports whether there was a
// pause.
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

// refused stops sharing, because the service does not know or allow PartiQL.
func (g *Group) refused(reason, err error) {
	if g.sharing.refused(reason) {
		g.opts.Refused(err)
	}
}

// accepted restarts sharing, because the service has accepted PartiQL.
func (g *Group) accepted() {
	if g.sharing.accepted() && g.opts.Accepted != nil {
		g.opts.Accepted()
	}
}

// Sharing reports whether the writers of a group share requests.
type Sharing int

// States of sharing.
const (
	// SharingOn means that writers share requests.
	SharingOn Sharing = iota
	// SharingPaused means that access was denied. A shared request is tried again after a pause.
	SharingPaused
	// SharingOff means that writers never share requests.
	SharingOff
)

func (s *sharing) state() Sharing {
	if !s.off.Load() {
		return SharingOn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.never:
		return SharingOff
	case s.off.Load():
		return SharingPaused
	}
	return SharingOn
}

// State reports whether writers share requests, and the number of items that wait for a request.
func (g *Group) State() (of Sharing, gathering int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sharing.state(), g.items
}
