package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The service runs on an engine in this process instead of AWS.
func TestServiceStoresOrdersAndStopsWithoutAnError(t *testing.T) {
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}

	// It logs the address where it listens.
	said, lines := io.Pipe()
	log.SetOutput(lines)
	defer log.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, engine.AWSConfig(), "127.0.0.1:0") }()
	line := make([]byte, 200)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(string(bytes.TrimSpace(line[:n])), "listening on ")

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, step := range []struct {
		kind, key string
		status    int
	}{
		{"placed", "", http.StatusBadRequest},
		{"shipped", "1", http.StatusConflict},
		{"placed", "2", http.StatusNoContent},
		{"placed", "2", http.StatusNoContent}, // the client has lost the response
		{"placed", "3", http.StatusConflict},
		{"shipped", "4", http.StatusNoContent},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/orders/7/"+step.kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", step.key)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != step.status {
			t.Errorf("%s with key %q: status %d, want %d", step.kind, step.key, response.StatusCode, step.status)
		}
	}

	stop() // as SIGTERM does
	if err := <-ended; err != nil {
		t.Errorf("the service ends with %v", err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	stored := 0
	for _, err := range journal.Events(t.Context(), "order|7", dynajournal.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if stored != 2 {
		t.Errorf("%d events are stored, want 2", stored)
	}
}
