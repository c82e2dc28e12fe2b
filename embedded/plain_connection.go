package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

// plainConnection serves the plain requests of a connection without net/http, which would take more
// than half of the processor time of a small request: a plain request needs no goroutine, no map of
// headers and no reader of its own, and its response is one write. The first request that is not
// plain, and all after it, are left to net/http.
type plainConnection struct {
	net.Conn

	of    *serving
	known *connection
	// in and head are those of the current request.
	in   incoming
	head plainHead
	// buffer is the memory for what is read. rest is the part of it that is not used yet.
	buffer, rest []byte
	// readBy and writeBy are the deadlines of the connection.
	readBy, writeBy time.Time
}

const (
	// plainBuffer is the size of the memory of a connection. The rest of a body that does not fit
	// is read into a buffer that the connection gives back.
	plainBuffer = 8 << 10
	// deadlineSlack is how much a deadline may differ from the limit. A deadline that is near
	// enough is not set again, as that would take as long as parsing the request.
	deadlineSlack = 500 * time.Millisecond
	// copiedBody is the size of a body up to which it is copied behind the head of its response, so
	// that both are one buffer.
	copiedBody = 16 << 10
)

// servePlain serves a connection until it ends, or hands it over to net/http.
func (s *serving) servePlain(ctx context.Context, conn net.Conn, known *connection) {
	p := &plainConnection{Conn: conn, of: s, known: known, buffer: make([]byte, plainBuffer)}
	over := false
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(cause)
			over = false
		}
		if over {
			s.open.handOver(conn, p.rest)
			return
		}
		_ = conn.Close() // nothing more is sent
		s.open.follow(conn, http.StateClosed)
	}()
	over = p.serve(ctx)
}

// serve serves plain requests. It returns true before the first other one, and false when the
// connection has to be closed.
func (p *plainConnection) serve(ctx context.Context) bool {
	for limit := p.of.limits.header; ; limit = p.of.limits.idle {
		if len(p.rest) == 0 && !p.receive(limit) {
			return false
		}
		size, plain := p.head.parse(p.rest)
		// net/http notices when the client of a request that hangs by a fault goes away. It also
		// responds to other hosts.
		if !plain || p.of.Engine.faults.active.Load() || !p.of.hosts.allow(p.head.host.text) {
			return true
		}
		if !p.respond(ctx, size) {
			return false
		}
	}
}

// receive reads what arrives next, within the limit. It reports false if nothing does.
func (p *plainConnection) receive(limit time.Duration) bool {
	by := time.Now().Add(limit)
	if early := by.Sub(p.readBy); early < 0 || early > deadlineSlack {
		p.readBy = by
		_ = p.SetReadDeadline(by) // the connection may be closed, which Read returns
	}
	n, _ := p.Read(p.buffer) // what has arrived counts, also with an error
	p.rest = p.buffer[:n]
	return n > 0
}

// respond reads the body of a request whose head has the given size, and responds. It reports
// whether the connection can take another request.
func (p *plainConnection) respond(ctx context.Context, size int) bool {
	s, started := p.of, time.Now()
	p.in = incoming{
		bodyMemory: reservation{memory: s.bodies}, responseMemory: reservation{memory: s.responses}, limits: &s.limits,
		control: p, connection: p.known, started: started, named: s.Log != nil, unaffected: true,
	}
	defer p.in.release() // when the response has been sent
	end := size + p.head.length
	var body []byte
	if end <= len(p.rest) {
		body, p.rest = p.rest[size:end], p.rest[end:]
	} else {
		buffer := p.in.takeBuffer()
		defer p.in.giveBuffer(buffer)
		err := p.readBody(buffer, p.rest[size:])
		p.rest = nil
		if errors.Is(err, os.ErrDeadlineExceeded) {
			response := unreadResponse(err)
			response.summary.received = len(*buffer)
			p.send(response, started, true)
		}
		if err != nil {
			return false
		}
		body = *buffer
	}
	response, err := s.Engine.handle(ctx, p.head.request(), body, &p.in)
	if err != nil {
		response = fixedResponse(http.StatusServiceUnavailable, "text/plain; charset=utf-8", err.Error()+"\n")
	}
	return p.send(response, started, err != nil) && p.known.rest()
}

// request returns what matters of the head.
func (h *plainHead) request() requestHead {
	return requestHead{
		host: h.host.value(), target: h.target.value(), kind: h.kind.value(), accepted: h.accepted.value(),
		signedAt: h.signedAt.value(), signed: true,
	}
}

// readBody reads the body that begins with what has arrived into the buffer.
func (p *plainConnection) readBody(buffer *[]byte, begin []byte) error {
	p.known.receives()
	body := append(slices.Grow((*buffer)[:0], p.head.length), begin...)
	for p.in.received = len(body); len(body) < p.head.length; {
		p.in.limitReading()
		p.readBy = p.in.deadline
		n, err := p.Read(body[len(body):p.head.length])
		body = body[:len(body)+n]
		p.in.received = len(body)
		if err != nil && len(body) < p.head.length {
			*buffer = body
			return fmt.Errorf("reading the body: %w", err)
		}
	}
	*buffer = body
	return nil
}

// send sends a response and counts it, and reports whether it was sent and others can follow.
func (p *plainConnection) send(response *response, started time.Time, last bool) bool {
	defer response.release()
	s, size := p.of, len(response.body)
	by := time.Now().Add(s.limits.patience(size))
	if late := p.writeBy.Sub(by); late < 0 || late > deadlineSlack {
		p.writeBy = by.Add(deadlineSlack)
		_ = p.SetWriteDeadline(p.writeBy) // the connection may be closed, which Write returns
	}
	buffer := takeBuffer()
	defer giveBuffer(buffer)
	*buffer = response.appendHead((*buffer)[:0], s.Engine.now(), last)
	var err error
	if size <= copiedBody {
		*buffer = append(*buffer, response.body...)
		_, err = p.Write(*buffer)
	} else {
		_, err = (&net.Buffers{*buffer, response.body}).WriteTo(p.Conn)
	}
	took := time.Since(started)
	s.metrics.request(response.summary, size, took)
	logRequest(s.Log, response.summary, response.status, size, took)
	return err == nil && !last
}

// logPanic logs that a request could not be responded to.
func logPanic(cause any) {
	slog.Error("embedded DynamoDB: responding to a request failed with an internal error", "error", fmt.Sprint("panic: ", cause))
}
