//go:build long

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
)

// The service gets SIGTERM while it writes. It answers the request, and exits without an error.
func TestRequestInFlightIsAnsweredWhenTheServiceStops(t *testing.T) {
	t.Parallel()
	writes, release := make(chan struct{}, 1), make(chan struct{})
	engine, endpoint := serveEngine(t, embedded.WithSleep(func(ctx context.Context, _ time.Duration) error {
		select {
		case writes <- struct{}{}:
		default: // a retry
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	}))
	b := startBank(t, "-endpoint", endpoint)
	idle := idleConnection(t, b)
	fault := embedded.Fault{Effect: embedded.EffectSlow, Operation: "PutItem", Delay: 1}
	if _, err := engine.Inject(fault); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r := &request{account: "anna", kind: "deposit", key: "1", amount: 5}
	answered := make(chan error, 1)
	go func() {
		status, _, err := post(&http.Client{Transport: transport}, b.url, r)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		answered <- err
	}()
	<-writes
	if err := b.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// A server that stops closes idle connections.
	if _, err := idle.ReadByte(); err == nil {
		t.Error("the service has sent something")
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("the service: %v", err)
	}
}

// idleConnection returns the reader of a connection that has received a response and is idle.
func idleConnection(t *testing.T, b *bank) *bufio.Reader {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprint(connection, "GET /accounts/anna HTTP/1.1\r\nHost: bank\r\n\r\n"); err != nil {
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

func TestAccountsInAFolderAreThereAfterAKill(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for try := range 2 {
		b := startBank(t, "-local", folder)
		status, version, err := post(client, b.url, &request{account: "anna", kind: "deposit", key: "1", amount: 5})
		if err != nil || status != http.StatusOK || version != 1 {
			t.Errorf("try %d: status %d, version %d, %v", try, status, version, err)
		}
		if err := b.end(syscall.SIGKILL); err == nil {
			t.Error("the bank has ended without an error")
		}
	}
}
