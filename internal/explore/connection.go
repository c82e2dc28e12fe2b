package explore

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ErrKilled is the error of the requests of a killed process.
var ErrKilled = errors.New("the process was killed")

var errExpired = errors.New("the signature has expired")

// signatureLife is the maximum age of a signature: the service rejects a request with an older one.
const signatureLife = 15 * time.Minute

// Standstill suspends and resumes a process. The zero value is a process that is not suspended. It
// is safe for concurrent use.
type Standstill struct {
	mu sync.Mutex
	// over is closed when the process continues. It is nil while the process is not suspended.
	over chan struct{}
}

// Suspend suspends the process until Resume, unless it is suspended already.
func (s *Standstill) Suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = make(chan struct{})
	}
}

// Resume resumes the process, if it is suspended.
func (s *Standstill) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		close(s.over)
		s.over = nil
	}
}

// Wait waits while the process is suspended.
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

// Connection is an http.RoundTripper that sends the requests of a process. While the process is
// suspended, no requests are sent and no responses are received, even if their contexts end. It is
// safe for concurrent use.
type Connection struct {
	inner  aws.HTTPClient
	still  *Standstill
	killed atomic.Bool
}

// NewConnection returns the connection of a process. It sends requests with inner.
func NewConnection(inner aws.HTTPClient, still *Standstill) *Connection {
	return &Connection{inner: inner, still: still}
}

// Kill makes every request fail from now on, including the ones that wait for a response.
func (c *Connection) Kill() { c.killed.Store(true) }

// Killed reports whether Kill was called.
func (c *Connection) Killed() bool { return c.killed.Load() }

// RoundTrip sends a request as soon as the process is not suspended, and returns the response. It
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
		_ = response.Body.Close() // it is not read
		return nil, ErrKilled
	}
	return response, err
}
