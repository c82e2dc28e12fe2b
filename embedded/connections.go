package embedded

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those of one Serve: how many there may be, and which are in the middle of an
// answer when serving ends.
type connections struct {
	net.Listener

	limit int
	// refusal is how long the server may take to refuse what is no request.
	refusal time.Duration

	lock sync.Mutex
	open map[net.Conn]*connection
	// changed is closed when a connection has ended or become idle, and replaced.
	changed chan struct{}
	// draining is set when serving ends: no request begins any more.
	draining bool
	closed   chan struct{}
	closing  sync.Once
}

// connection is what is known of one. The lock of the connections guards it.
type connection struct {
	of        *connections
	idle      bool
	idleSince time.Time
	// answering is set from when a request has arrived whole until its answer has left.
	answering bool
}

// connectionKey is where the context of a request has its connection.
type connectionKey struct{}

func limitConnections(listener net.Listener, limits *serverLimits) *connections {
	return &connections{
		Listener: listener, limit: limits.connections, refusal: limits.header + limits.transfer, open: map[net.Conn]*connection{},
		changed: make(chan struct{}), closed: make(chan struct{}),
	}
}

// Accept waits until there may be one more connection, and for that. One goroutine calls it.
func (c *connections) Accept() (net.Conn, error) {
	for {
		changed := c.makeRoom()
		if changed == nil {
			return c.Listener.Accept() //nolint:wrapcheck // the server tells temporary errors apart
		}
		select {
		case <-changed:
		case <-c.closed:
			return nil, net.ErrClosed
		}
	}
}

// makeRoom returns nil if there may be one more connection. If not it closes the one that has been
// idle for longest, if there is any, and returns what is closed when there is less to hold.
func (c *connections) makeRoom() (changed <-chan struct{}) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if len(c.open) < c.limit {
		return nil
	}
	var oldest net.Conn
	for conn, known := range c.open {
		if known.idle && (oldest == nil || known.idleSince.Before(c.open[oldest].idleSince)) {
			oldest = conn
		}
	}
	if oldest != nil {
		c.open[oldest].idle = false // it is closed only once
		_ = oldest.Close()          // the server finds out, and says that it has ended
	}
	return c.changed
}

// Close ends the listening.
func (c *connections) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// connected is called for every connection that was accepted, before anything else, and puts it
// into the context of its requests.
func (c *connections) connected(ctx context.Context, conn net.Conn) context.Context {
	c.lock.Lock()
	defer c.lock.Unlock()
	_ = conn.SetWriteDeadline(time.Now().Add(c.refusal)) // every request sets it anew
	known := &connection{of: c}
	c.open[conn] = known
	return withConnection(ctx, known)
}

func withConnection(ctx context.Context, known *connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, known)
}

// follow is told by the server what a connection does.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.open[conn]
	switch state {
	case http.StateNew:
		return
	case http.StateActive:
		known.idle, known.answering = false, false
		return
	case http.StateIdle:
		known.idle, known.idleSince, known.answering = true, time.Now(), false
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// begin is called when a request has arrived whole, before anything is done for it. It reports
// whether it may be done: not once serving ends.
func (c *connection) begin() bool {
	c.of.lock.Lock()
	defer c.of.lock.Unlock()
	c.answering = !c.of.draining
	return c.answering
}

// drain closes the connections that are not in the middle of an answer: what has not arrived whole
// would be waited for in vain.
func (c *connections) drain() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.draining = true
	for conn, known := range c.open {
		if !known.answering {
			_ = conn.Close() // the server finds out
		}
	}
}

// count returns how many connections are open.
func (c *connections) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.open)
}
