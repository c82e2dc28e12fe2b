package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// controlled serves an engine with the control interface, and returns its address.
func controlled(t *testing.T, server embedded.Server, faults ...embedded.Fault) (*embedded.Engine, string) {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithFaults(faults...))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	server.Engine = engine
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return engine, "http://" + listener.Addr().String()
}

// exchange sends a request, and returns the status and the body of the response. Headers are pairs.
func exchange(t *testing.T, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(bytes.TrimSpace(content))
}

func TestControl_FaultsAreListedAddedAndRemovedWhileServing(t *testing.T) {
	t.Parallel()
	engine, url := controlled(t, embedded.Server{Control: true},
		embedded.Fault{Effect: embedded.EffectThrottling, Operation: "PutItem"})
	faults := url + "/control/faults"
	list := func(want string) {
		t.Helper()
		if status, got := exchange(t, http.MethodGet, faults, ""); status != http.StatusOK || got != want {
			t.Errorf("%d %s, want %s", status, got, want)
		}
	}
	list(`[{"id":1,"fault":"throttling,operation=PutItem","hit":0}]`)
	if status, got := exchange(t, http.MethodPost, faults, "internal-error,operation=ListTables"); status != http.StatusCreated ||
		got != `{"id":2,"fault":"internal-error,operation=ListTables","hit":0}` {
		t.Errorf("%d %s", status, got)
	}
	if _, err := clientOf(engine).ListTables(t.Context(), nil); err == nil {
		t.Error("the fault hits nothing")
	}
	if status, got := exchange(t, http.MethodDelete, faults+"/1", ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, got)
	}
	if status, got := exchange(t, http.MethodDelete, faults+"/1", ""); status != http.StatusNotFound || got != `there is no fault "1"` {
		t.Errorf("%d %s", status, got)
	}
	if status, got := exchange(t, http.MethodDelete, faults, ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, got)
	}
	list(`[]`)
	if _, err := clientOf(engine).ListTables(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestControl_InvalidAndTooManyFaultsAreRefused(t *testing.T) {
	t.Parallel()
	_, url := controlled(t, embedded.Server{Control: true})
	faults := url + "/control/faults"
	for body, want := range map[string]string{
		"":                          "a fault needs an effect",
		"nonsense":                  "unknown effect",
		strings.Repeat("x", 20<<10): "too large",
	} {
		if status, got := exchange(t, http.MethodPost, faults, body); status != http.StatusBadRequest || !strings.Contains(got, want) {
			t.Errorf("%.20q: %d %.200s, want %s", body, status, got, want)
		}
	}
	for range 100 {
		exchange(t, http.MethodPost, faults, "reset,operation=PutItem")
	}
	if status, got := exchange(t, http.MethodPost, faults, "reset,operation=PutItem"); status != http.StatusConflict {
		t.Errorf("%d %s", status, got)
	}
	if status, _ := exchange(t, http.MethodPut, faults, "reset"); status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", status)
	}
}

func TestControl_PagesOfBrowsersAndOtherMachinesAreRefused(t *testing.T) {
	t.Parallel()
	_, url := controlled(t, embedded.Server{Control: true})
	_, closed := controlled(t, embedded.Server{})
	for _, c := range []struct {
		name, url string
		headers   []string
		want      int
	}{
		{"a page", url, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"a form of a page", url, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a name that was bound to this machine", url, []string{"Host", "evil.example"}, http.StatusForbidden},
		{"without Control", closed, nil, http.StatusNotFound},
		{"a program", url, nil, http.StatusCreated},
	} {
		if status, got := exchange(t, http.MethodPost, c.url+"/control/faults", "reset,operation=PutItem", c.headers...); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, status, got, c.want)
		}
	}
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, engine)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Skipf("skipped: this machine has no address besides the loopback one: %v", err)
	}
	if err := (&embedded.Server{Engine: engine, Control: true}).Serve(t.Context(), listener); err == nil ||
		!strings.Contains(err.Error(), "needs a loopback address") {
		t.Errorf("another machine could reach it: %v", err)
	}
}
