package embedded

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// handedOver is a connection that was handed over to net/http, which first reads what was read
// already.
type handedOver struct {
	net.Conn

	rest []byte
}

// Read reads the next bytes.
func (h *handedOver) Read(dst []byte) (int, error) {
	if len(h.rest) == 0 {
		h.rest = nil // and its memory
		return h.Conn.Read(dst)
	}
	n := copy(dst, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// SetLinger is that of a TCP connection. It does nothing on others.
func (h *handedOver) SetLinger(seconds int) error {
	if tcp, is := h.Conn.(*net.TCPConn); is {
		return tcp.SetLinger(seconds)
	}
	return nil
}

// CloseWrite is that of a TCP connection. net/http calls it so that a client can read the response
// to a request that it has not sent whole. It does nothing on others.
func (h *handedOver) CloseWrite() error {
	if tcp, is := h.Conn.(*net.TCPConn); is {
		return tcp.CloseWrite()
	}
	return nil
}

// httpListener is the listener of net/http's server. The connections that it accepts are those that
// were handed over.
type httpListener struct {
	*connections

	failures chan error
}

// Accept returns the next connection that was handed over, or an error of accepting new ones.
func (l *httpListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.handed:
		return conn, nil
	case err := <-l.failures:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// accept accepts connections until the listener is closed, and serves each. net/http's server gets
// the errors, and calls Accept again after a pause if an error is temporary.
func (s *serving) accept(ctx context.Context, failures chan<- error) {
	for {
		conn, err := s.open.Accept()
		if err == nil {
			known := s.open.add(conn) // before the next one is accepted
			s.plain.Go(func() { s.servePlain(ctx, conn, known) })
			continue
		}
		select {
		case failures <- err:
		case <-s.open.closed:
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// add adds an accepted connection.
func (c *connections) add(conn net.Conn) *connection {
	c.lock.Lock()
	defer c.lock.Unlock()
	known := &connection{of: c}
	c.open[conn] = known
	if c.draining {
		_ = conn.Close() // Read returns an error
	}
	return known
}

// handOver hands a connection over to net/http, with what was read of it.
func (c *connections) handOver(conn net.Conn, rest []byte) {
	resumed := &handedOver{conn, rest}
	c.lock.Lock()
	known := c.open[conn]
	known.idle, known.answering = false, false
	delete(c.open, conn)
	c.open[resumed] = known
	c.lock.Unlock()
	select {
	case c.handed <- resumed:
	case <-c.closed:
		_ = resumed.Close() // nothing was sent
		c.follow(resumed, http.StateClosed)
	}
}

// receives marks the connection as one whose request arrives: it is not closed for another one.
func (c *connection) receives() {
	c.of.lock.Lock()
	defer c.of.lock.Unlock()
	c.idle = false
}

// rest marks the connection as idle, and reports whether it may take another request.
func (c *connection) rest() bool {
	c.of.lock.Lock()
	defer c.of.lock.Unlock()
	c.idle, c.idleSince, c.answering = true, time.Now(), false
	c.of.notify()
	return !c.of.draining
}

// closeAll closes all connections.
func (c *connections) closeAll() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for conn := range c.open {
		_ = conn.Close() // requests in flight took too long
	}
}
