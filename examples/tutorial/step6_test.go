package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/examples/tutorial/step6"
)

// The write of a request waits while the step stops. The request is still answered.
func TestRequestInFlightIsAnsweredWhenStep6Stops(t *testing.T) {
	writing, release := make(chan struct{}, 1), make(chan struct{})
	engine, err := embedded.OpenMemory(embedded.WithSleep(func(ctx context.Context, _ time.Duration) error {
		select {
		case writing <- struct{}{}:
		default: // a retry
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	reader, writer := io.Pipe()
	log.SetFlags(0)
	log.SetOutput(writer)
	defer log.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- step6.Serve(ctx, engine.AWSConfig(), "127.0.0.1:0")
		_ = writer.Close() // ends the read below if the step never listens
	}()
	logged := bufio.NewReader(reader)
	line, err := logged.ReadString('\n')
	if err != nil {
		t.Fatalf("it does not listen: %v, %v", err, <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }()
	s := &service{url: strings.TrimSpace(strings.TrimPrefix(line, "listening on "))}
	idle := idleConnection(t, s.url)

	// The events of the account are written late.
	if _, err := engine.Inject(embedded.Fault{
		Effect: embedded.EffectSlow, Operation: "PutItem", Key: "*account|anna*", Delay: 1,
	}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		body, err := s.curl(t.Context(), `curl -H 'Idempotency-Key: 1' -d '{"amount": 12}' localhost:8080/accounts/anna/deposit`)
		if err != nil {
			body = err.Error()
		}
		answered <- body
	}()
	<-writing
	stop()
	// A server that stops closes idle connections.
	if _, err := idle.ReadByte(); err == nil {
		t.Error("the server has sent something")
	}
	close(release)
	if got, want := <-answered, "{\"version\":1}\n"; got != want {
		t.Errorf("the request in flight gets %q, want %q", got, want)
	}
	if err := <-ended; err != nil {
		t.Errorf("the step ends with %v", err)
	}
}

// idleConnection returns the reader of a connection that has received a response and is idle.
func idleConnection(t *testing.T, url string) *bufio.Reader {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprint(connection, "GET /accounts/bob HTTP/1.1\r\nHost: bank\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return reader
}
