package embedded

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections tracks the connections of one call of Serve. It limits their number, and records
// which of them have a request in progress when serving ends.
type connections struct {
	net.Listener

	limit int
	// refusal limits the time that the server takes to refuse an invalid request.
	refusal time.Duration

	lock sync.Mutex
	open map[net.Conn]*connection
	// changed is closed when a connection closes or becomes idle. It is nil while nothing waits for
	// that.
	changed chan struct{}
	// draining is set when serving ends: no more requests start.
	draining bool
	closed   chan struct{}
	closing  sync.Once
}

// connection is the state of a connection. The lock of connections guards it.
type connection struct {
	of        *connections
	idle      bool
	idleSince time.Time
	// answering is set from the arrival of the whole request until its response is sent.
	answering bool
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

func limitConnections(listener net.Listener, limits *serverLimits) *connections {
	return &connections{
		Listener: listener, limit: limits.connections, refusal: limits.header + limits.transfer, open: map[net.Conn]*connection{},
		closed: make(chan struct{}),
	}
}

// Accept waits until there are fewer connections than the limit, and accepts the next one. It is
// called by one goroutine.
func (c *connections) Accept() (net.Conn, error) {
	for {
		changed := c.makeRoom()
		if changed == nil {
			return c.Listener.Accept()
		}
		select {
		case <-changed:
		case <-c.closed:
			return nil, net.ErrClosed
		}
	}
}

// makeRoom returns nil if there can be one more connection. Otherwise it closes the connection that
// has been idle the longest, if one is idle, and returns a channel that is closed when the
// connections change. The closed connection remains the longest idle until the server reports
// StateClosed, so a second call before that does not close another one.
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
		_ = oldest.Close() // the server reports StateClosed
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Close closes the listener.
func (c *connections) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// connected adds an accepted connection, and puts it into the context of its requests.
func (c *connections) connected(ctx context.Context, conn net.Conn) context.Context {
	c.lock.Lock()
	defer c.lock.Unlock()
	_ = conn.SetWriteDeadline(time.Now().Add(c.refusal)) // every request sets it again
	known := &connection{of: c}
	c.open[conn] = known
	if c.draining {
		_ = conn.Close() // the server reports StateClosed
	}
	return withConnection(ctx, known)
}

func withConnection(ctx context.Context, known *connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, known)
}

// follow records the new state of a connection.
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
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// start marks the connection as answering, and reports whether the request may start. It is called
// when the request has arrived, and returns false once serving ends.
func (c *connection) start() bool {
	c.of.lock.Lock()
	defer c.of.lock.Unlock()
	c.answering = !c.of.draining
	return c.answering
}

// drain closes the connections that are not answering. A request that has not arrived yet does not
// start.
func (c *connections) drain() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.draining = true
	for conn, known := range c.open {
		if !known.answering {
			_ = conn.Close() // the server reports StateClosed
		}
	}
}

// count returns the number of open connections.
func (c *connections) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.open)
}
