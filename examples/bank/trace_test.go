package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// running is a service in this process, on an engine in memory.
type running struct {
	*service

	t      *testing.T
	engine *embedded.Engine
	url    string
}

// startService starts a service until the test ends.
func startService(t *testing.T, options ...sdktrace.TracerProviderOption) *running {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	if err := createTables(t.Context(), engine.AWSConfig()); err != nil {
		t.Fatal(err)
	}
	seen, err := newObserver(options...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), engine.AWSConfig(), seen)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.handler())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.group.Run(ctx) }()
	t.Cleanup(func() {
		server.Close()
		stop()
		for _, err := range []error{<-ended, s.close(context.Background()), seen.close(context.Background())} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return &running{s, t, engine, server.URL}
}

// send sends a request, and fails the test unless its status is 200.
func (r *running) send(method, path, key, body string) {
	r.t.Helper()
	if status := r.status(method, path, key, body); status != http.StatusOK {
		r.t.Fatalf("%s %s: status %d", method, path, status)
	}
}

// status sends a request, and returns the status of the response.
func (r *running) status(method, path, key, body string) int {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", key)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// below writes the names of the spans below a span, indented and by their names.
func below(all []sdktrace.ReadOnlySpan, parent trace.SpanID, indent string, to *strings.Builder) {
	var names []string
	children := map[string]trace.SpanID{}
	for _, span := range all {
		if span.Parent().SpanID() == parent {
			names = append(names, span.Name())
			children[span.Name()] = span.SpanContext().SpanID()
		}
	}
	slices.Sort(names)
	for _, name := range names {
		to.WriteString(indent + name + "\n")
		below(all, children[name], indent+"  ", to)
	}
}

// One trace leads from the request of a client to the read model. README.md shows it.
func TestTrace_FromRequestToReadModel(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	r := startService(t, sdktrace.WithSpanProcessor(spans))
	r.send("POST", "/accounts/anna/deposit", "1", `{"amount": 500}`)
	var stored sdktrace.ReadOnlySpan
	// The stream is polled.
	for deadline := time.Now().Add(time.Minute); stored == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the event is never handled")
		}
		for _, span := range spans.Ended() {
			if span.Name() == "store movement" {
				stored = span
			}
		}
	}
	var found strings.Builder
	ofTrace := slices.DeleteFunc(spans.Ended(), func(span sdktrace.ReadOnlySpan) bool {
		return span.SpanContext().TraceID() != stored.SpanContext().TraceID()
	})
	below(ofTrace, trace.SpanID{}, "", &found)
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```text\n"+found.String()+"```\n") {
		t.Errorf("README.md does not have the trace\n%s", found.String())
	}
}

func TestMovements_OfAnAccount(t *testing.T) {
	r := startService(t)
	r.send("POST", "/accounts/anna/deposit", "1", `{"amount": 500}`)
	r.send("POST", "/accounts/anna/withdraw", "2", `{"amount": 200}`)
	var latest []Movement
	// The stream is polled.
	for deadline := time.Now().Add(time.Minute); len(latest) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the movements are %v", latest)
		}
		var err error
		if latest, err = r.movements.latest(t.Context(), "anna"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []Movement{{2, -200}, {1, 500}}; !slices.Equal(latest, want) {
		t.Errorf("the movements are %v, want %v", latest, want)
	}
	r.send("GET", "/accounts/anna/movements", "", "")
	r.send("GET", "/metrics", "", "")
}

// While DynamoDB can't be used, the bank is not ready, and is not restarted.
func TestProbes_DuringAnOutage(t *testing.T) {
	r := startService(t)
	r.send("GET", "/ready", "", "")
	remove, err := r.engine.Inject(embedded.Fault{
		Effect: embedded.EffectAccessDenied, Operation: "GetItem", Table: dynajournal.DefaultJournalTable,
	})
	if err != nil {
		t.Fatal(err)
	}
	if status := r.status("GET", "/ready", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("during the outage the status of /ready is %d", status)
	}
	r.send("GET", "/live", "", "")
	remove()
	r.send("GET", "/ready", "", "")
}
