package bench

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// gate is an HTTP client that delays requests while it is shut, and counts the requests that it
// sends.
type gate struct {
	inner aws.HTTPClient
	sent  atomic.Int64

	mu sync.Mutex
	// passable is closed while the gate is open.
	passable chan struct{}
	// under counts the requests without a response.
	under sync.WaitGroup
}

func newGate(inner aws.HTTPClient) *gate {
	g := &gate{inner: inner, passable: make(chan struct{})}
	close(g.passable)
	return g
}

// Do waits until the gate is open, and sends the request.
func (g *gate) Do(r *http.Request) (*http.Response, error) {
	if err := g.enter(r.Context()); err != nil {
		return nil, err
	}
	defer g.under.Done()
	g.sent.Add(1)
	return g.inner.Do(r)
}

func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		passable := g.passable
		select {
		case <-passable:
			g.under.Add(1)
			g.mu.Unlock()
			return nil
		default:
		}
		g.mu.Unlock()
		select {
		case <-passable:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// shut delays all further requests. When it returns, no request is in flight.
func (g *gate) shut() {
	g.mu.Lock()
	select {
	case <-g.passable:
		g.passable = make(chan struct{})
	default:
	}
	g.mu.Unlock()
	g.under.Wait()
}

// open lets requests pass.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passable:
	default:
		close(g.passable)
	}
}
