package explore

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ErrKilled is why a request of a process that was killed fails.
var ErrKilled = errors.New("the process was killed")

var errExpired = errors.New("the signature has expired")

// signatureLife is how old a signature may be: the service rejects a request with an older one.
const signatureLife = 15 * time.Minute

// Standstill is whether a process stands still. The zero value is a process that does not. It is
// safe for concurrent use.
type Standstill struct {
	mu sync.Mutex
	// over is closed when the process continues. It is nil while the process does not stand still.
	over chan struct{}
}

// Begin lets the process stand still until End, unless it does already.
func (s *Standstill) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = make(chan struct{})
	}
}

// End lets the process continue, if it stands still.
func (s *Standstill) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		close(s.over)
		s.over = nil
	}
}

// Wait returns when the process does not stand still.
func (s *Standstill) Wait() {
	for {
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if over == nil {
			return
		}
		<-over
	}
}

// Connection is an http.RoundTripper that sends the requests of a process. While the process stands
// still, neither are requests sent nor responses received, whatever their contexts are. It is safe
// for concurrent use.
type Connection struct {
	inner  aws.HTTPClient
	still  *Standstill
	killed atomic.Bool
}

// NewConnection returns the connection of a process that sends its requests by another client.
func NewConnection(inner aws.HTTPClient, still *Standstill) *Connection {
	return &Connection{inner: inner, still: still}
}

// Kill lets every request fail from now on, also those that wait for a response.
func (c *Connection) Kill() { c.killed.Store(true) }

// Killed reports whether Kill was called.
func (c *Connection) Killed() bool { return c.killed.Load() }

// RoundTrip sends a request when the process does not stand still, and returns the response. It
// returns an error if the process was killed, or if the signature expired before the request was
// sent.
func (c *Connection) RoundTrip(r *http.Request) (*http.Response, error) {
	signed := time.Now()
	c.still.Wait()
	switch {
	case c.Killed():
		return nil, ErrKilled
	case time.Since(signed) > signatureLife:
		return nil, errExpired
	}
	response, err := c.inner.Do(r)
	c.still.Wait()
	if err == nil && c.Killed() {
		_ = response.Body.Close() // nobody reads it
		return nil, ErrKilled
	}
	return response, err
}
