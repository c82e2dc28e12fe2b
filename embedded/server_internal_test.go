package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that time-outs can be tested in a
// synctest bubble. A write returns when the other side has read it.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000} }

// client is the client side of a connection.
type client struct {
	net.Conn

	t      *testing.T
	reader *bufio.Reader
}

func (p *pipes) connect(t *testing.T) *client {
	t.Helper()
	near, far := net.Pipe()
	p.accepted <- far
	return &client{Conn: near, t: t, reader: bufio.NewReader(near)}
}

// head returns the headers of a request with a body of size bytes.
func head(size int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"+
		"Authorization: AWS4-HMAC-SHA256 x\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n", size)
}

// text returns a body of size bytes.
func text(size int) string { return `{"x":"` + strings.Repeat("a", size-8) + `"}` }

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Errorf("sending: %v", err)
	}
}

// status reads a response and returns its status.
func (c *client) status() (int, error) {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

func (c *client) expect(status int) {
	c.t.Helper()
	if got, err := c.status(); got != status || err != nil {
		c.t.Errorf("got %d, %v; want %d", got, err, status)
	}
}

// expectEnd reads until the server closes the connection.
func (c *client) expectEnd() {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c.reader); err != nil {
		c.t.Errorf("the connection ended with %v", err)
	}
}

// bubble serves an engine on connections in memory, in a synctest bubble.
func bubble(t *testing.T, change func(*serverLimits), play func(t *testing.T, p *pipes, end func() error), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine, err := OpenMemory(options...)
		if err != nil {
			t.Fatal(err)
		}
		limits := defaultServerLimits()
		if change != nil {
			change(&limits)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p, served := newPipes(), make(chan error, 1)
		go func() { served <- (&Server{Engine: engine, limits: &limits}).Serve(ctx, p) }()
		ended := false
		end := func() error {
			ended = true
			cancel()
			return <-served
		}
		play(t, p, end)
		if !ended {
			if err := end(); err != nil {
				t.Errorf("serving ended with %v", err)
			}
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
}

// expectTook checks how much time has passed in the bubble.
func expectTook(t *testing.T, since time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(since); took != want {
		t.Errorf("it took %s, want %s", took, want)
	}
}

func TestHeadersMustArriveInTime(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c := time.Now(), p.connect(t)
		c.write("POST / HTTP/1.1\r\nHost: loc")
		c.expectEnd()
		expectTook(t, start, 10*time.Second)
	})
}

func TestServe_SlowBody(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c := time.Now(), p.connect(t)
		c.write(head(16 << 20))
		c.write(text(1 << 20)) // eight seconds' worth
		c.expect(http.StatusRequestTimeout)
		expectTook(t, start, 28*time.Second)
		c.expectEnd()
	})
}

func TestServe_SlowBodyOfRefusedRequest(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c := time.Now(), p.connect(t)
		c.write("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
		c.expect(http.StatusOK)
		c.expectEnd()
		expectTook(t, start, 20*time.Second)
	})
}

func TestServe_SlowBodyThatKeepsArriving(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c, body := time.Now(), p.connect(t), text(12<<20)
		c.write(head(len(body)))
		for len(body) > 0 {
			n := min(len(body), 150<<10)
			c.write(body[:n])
			body = body[n:]
			time.Sleep(time.Second)
		}
		c.expect(http.StatusOK)
		if time.Since(start) < time.Minute {
			t.Error("it was not slow")
		}
		time.Sleep(time.Minute) // the time limits of the finished request no longer apply
		c.write(head(2) + "{}")
		c.expect(http.StatusOK)
	})
}

func TestServe_SlowReaderOfResponse(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		c := p.connect(t)
		c.write(head(2) + "{}")
		time.Sleep(19 * time.Second)
		c.expect(http.StatusOK)
		c.write(head(2) + "{}")
		time.Sleep(21 * time.Second)
		if status, err := c.status(); err == nil {
			t.Errorf("the response %d waited for longer", status)
		}
	})
}

func TestServe_SlowOperation(t *testing.T) {
	slow := WithFaults(Fault{Effect: EffectSlow, Delay: time.Hour})
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c := time.Now(), p.connect(t)
		c.write(head(2) + "{}")
		c.expect(http.StatusOK)
		expectTook(t, start, time.Hour)
	}, slow)
}

func TestConnections_IdleOneIsClosedAtTheLimit(t *testing.T) {
	bubble(t, func(l *serverLimits) { l.connections = 2 }, func(t *testing.T, p *pipes, _ func() error) {
		start := time.Now()
		var clients []*client
		for range 3 {
			c := p.connect(t)
			c.write(head(2) + "{}")
			c.expect(http.StatusOK)
			clients = append(clients, c)
			time.Sleep(time.Second)
		}
		expectTook(t, start, 3*time.Second) // no client has waited
		clients[0].expectEnd()              // it has been idle the longest
		clients[2].write(head(2) + "{}")
		clients[2].expect(http.StatusOK)
	})
}

func TestConnections_OnlyOneIsClosedForTheNext(t *testing.T) {
	c := limitConnections(nil, &serverLimits{connections: 2, header: time.Second, transfer: time.Second})
	conns := make([]net.Conn, 2)
	for i := range conns {
		server, client := net.Pipe()
		defer client.Close()
		conns[i] = server
		c.connected(t.Context(), server)
		c.follow(server, http.StateActive)
	}
	c.follow(conns[0], http.StateIdle)
	c.makeRoom() // it closes the first
	c.follow(conns[1], http.StateIdle)
	if c.makeRoom() == nil {
		t.Error("there is room before the server has reported that the first is closed")
	}
	if err := conns[1].SetDeadline(time.Time{}); err != nil {
		t.Errorf("the second connection is also closed: %v", err)
	}
	c.follow(conns[0], http.StateClosed)
	if c.makeRoom() != nil {
		t.Error("there is no room for the next connection")
	}
}

func TestConnections_WaitBeyondTheLimit(t *testing.T) {
	bubble(t, func(l *serverLimits) { l.connections = 1 }, func(t *testing.T, p *pipes, _ func() error) {
		start, slow := time.Now(), p.connect(t)
		slow.write("POST")
		c := p.connect(t) // it is accepted when the other connection ends
		// The other connection ends when the server fails to refuse its request.
		expectTook(t, start, 30*time.Second)
		c.write(head(2) + "{}")
		c.expect(http.StatusOK)
	})
}

func TestServe_StopsDespiteHalfSentRequests(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, end func() error) {
		idle, started, halfHead, halfBody := p.connect(t), p.connect(t), p.connect(t), p.connect(t)
		started.write(head(2) + "{}")
		started.expect(http.StatusOK)
		halfHead.write("POST")
		halfBody.write(head(1000) + "{")
		synctest.Wait()
		start := time.Now()
		if err := end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took >= time.Second { // it polls
			t.Errorf("it took %s", took)
		}
		for _, c := range []*client{idle, started, halfHead, halfBody} {
			c.expectEnd()
		}
	})
}

func TestServe_FinishesRequestsInFlight(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, end func() error) {
		c := p.connect(t)
		c.write(head(2) + "{}")
		synctest.Wait() // the response waits to be read
		ended := make(chan error, 1)
		go func() { ended <- end() }()
		time.Sleep(9 * time.Second)
		c.expect(http.StatusOK)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestServe_StopsDespiteUnreadResponse(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, end func() error) {
		c := p.connect(t)
		c.write(head(2) + "{}")
		synctest.Wait()
		start := time.Now()
		if err := end(); err != nil {
			t.Error(err)
		}
		expectTook(t, start, 10*time.Second)
	})
}

func TestClose_HalfSentBody(t *testing.T) {
	engine, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	body, sender := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := engine.respond(request, nil)
		answered <- err
	}()
	if _, err := sender.Write([]byte("{")); err != nil { // it has been read
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
	if err := sender.Close(); err != nil {
		t.Error(err)
	}
	if err := <-answered; !errors.Is(err, ErrClosed) {
		t.Errorf("the request got %v", err)
	}
}

// TestServe_LargeBodiesAreAcceptedInTurn sends bodies that together exceed the
// memory. They are accepted one after the other.
func TestServe_LargeBodiesAreAcceptedInTurn(t *testing.T) {
	bubble(t, func(l *serverLimits) { l.memory = 1 << 20 }, func(t *testing.T, p *pipes, _ func() error) {
		start, body := time.Now(), text(1<<20)
		var group sync.WaitGroup
		for range 20 {
			c := p.connect(t)
			group.Go(func() {
				c.write(head(len(body)) + body)
				c.expect(http.StatusOK)
			})
		}
		group.Wait()
		expectTook(t, start, 0)
	})
}

func TestServe_HalfSentBodiesDoNotExceedTheMemory(t *testing.T) {
	const limit = 1 << 20
	bubble(t, func(l *serverLimits) { l.memory = limit }, func(t *testing.T, p *pipes, _ func() error) {
		start := time.Now()
		var group sync.WaitGroup
		var clients []*client
		for range 50 {
			c := p.connect(t)
			clients = append(clients, c)
			group.Go(func() {
				// Requests that get no memory are refused before their bodies are sent completely.
				_, _ = io.WriteString(c, head(16<<20)+text(256<<10))
			})
		}
		synctest.Wait()
		small := p.connect(t)
		small.write(head(1000) + text(1000))
		small.expect(http.StatusOK)
		const page = `{"RequestItems":{"none":{"Keys":[{"pk":{"S":"a"}}]}}}`
		small.write(strings.Replace(head(len(page)), "ListTables", "BatchGetItem", 1) + page)
		small.expect(http.StatusBadRequest) // there is no such table
		expectTook(t, start, 0)
		metrics := p.connect(t)
		metrics.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
		var used, waiting float64
		for used == 0 || waiting == 0 {
			line, err := metrics.reader.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Sscanf(line, "dynajournal_engine_body_memory_bytes %g", &used)
			_, _ = fmt.Sscanf(line, "dynajournal_engine_waiting_requests %g", &waiting)
		}
		go func() { _, _ = io.Copy(io.Discard, metrics.reader) }()
		if most := limit + 512<<10; used > float64(most) || waiting < 30 {
			t.Errorf("%g bytes are reserved, want at most %d; %g requests wait", used, most, waiting)
		}
		// The responses are read concurrently: a response that its client does not read is cut off
		// at its deadline.
		var busy, late atomic.Int64
		for _, c := range clients {
			group.Go(func() {
				defer c.Close()
				status, err := c.status()
				switch {
				case err == nil && status == http.StatusServiceUnavailable:
					busy.Add(1)
				case err == nil && status == http.StatusRequestTimeout:
					late.Add(1)
				default:
					t.Errorf("got %d, %v", status, err)
				}
			})
		}
		group.Wait()
		if busy.Load() < 30 || late.Load() == 0 {
			t.Errorf("%d requests failed because the server was busy, %d because they were late", busy.Load(), late.Load())
		}
	})
}
