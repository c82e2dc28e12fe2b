//go:build interop

package interop_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// gate is a proxy before the engine, which can hold a JVM's requests.
type gate struct {
	url string

	mu    sync.Mutex
	holds []*held
}

// held are the requests that a condition holds for.
type held struct {
	matches func(operation, body string) bool
	// open lets them through; passed is closed when the first of them was answered.
	open, passed chan struct{}
	answered     sync.Once
}

// release lets requests through, those too that are still to come.
func (h *held) release() { close(h.open) }

// newGate is a gate before the server. It is closed with the test.
func newGate(tb testing.TB) *gate {
	tb.Helper()
	engine, err := url.Parse(endpoint(tb))
	if err != nil {
		tb.Fatal(err)
	}
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(proxy, w, r) }))
	tb.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// hold holds the requests that match, until they are released.
func (g *gate) hold(matches func(operation, body string) bool) *held {
	h := g.watch(matches)
	h.open = make(chan struct{})
	return h
}

// watch says when a request that matches was answered.
func (g *gate) watch(matches func(operation, body string) bool) *held {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &held{matches: matches, passed: make(chan struct{})}
	g.holds = append(g.holds, h)
	return h
}

func (g *gate) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	matching := g.matching(r.Header.Get("X-Amz-Target"), string(body))
	for _, h := range matching {
		if h.open == nil {
			continue
		}
		select {
		case <-h.open:
		case <-r.Context().Done(): // its sender has gone
			return
		}
	}
	proxy.ServeHTTP(w, r)
	for _, h := range matching {
		h.answered.Do(func() { close(h.passed) })
	}
}

func (g *gate) matching(operation, body string) []*held {
	g.mu.Lock()
	defer g.mu.Unlock()
	var matching []*held
	for _, h := range g.holds {
		if h.matches(operation, body) {
			matching = append(matching, h)
		}
	}
	return matching
}
