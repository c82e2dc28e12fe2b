//go:build interop

package interop_test

import (
	"bytes"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// gate is a proxy in front of the engine, which can block requests, or deny them like a policy.
type gate struct {
	url string

	mu    sync.Mutex
	rules []*rule
	// allowed lists the operations that the policy allows. Nil allows all.
	allowed []string
	// used has the operations that were requested.
	used map[string]bool
}

// rule blocks or watches the requests that match a condition.
type rule struct {
	matches func(operation, body string) bool
	// open, when closed, releases the requests. passed is closed when the first of them got its
	// response.
	open, passed chan struct{}
	answered     sync.Once
}

// release releases the blocked requests and later ones.
func (h *rule) release() { close(h.open) }

// newGate returns a gate in front of the server. It closes with the test.
func newGate(tb testing.TB) *gate {
	tb.Helper()
	engine, err := url.Parse(endpoint(tb))
	if err != nil {
		tb.Fatal(err)
	}
	g := &gate{used: map[string]bool{}}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	// A transport that requests compression itself also decompresses the response, which then no
	// longer matches the checksum in its X-Amz-Crc32 header.
	transport := &http.Transport{DisableCompression: true}
	tb.Cleanup(transport.CloseIdleConnections)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(proxy, w, r) }))
	tb.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// allow denies all operations except the given ones.
func (g *gate) allow(operations ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed = operations
}

func (g *gate) denies(operation string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used[operation] = true
	return g.allowed != nil && !slices.Contains(g.allowed, operation)
}

// unused returns the allowed operations that were not requested.
func (g *gate) unused() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.allowed), func(operation string) bool { return g.used[operation] })
}

// deny responds like DynamoDB if a policy does not allow an operation.
func deny(w http.ResponseWriter, operation string) {
	body := `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized to perform: dynamodb:` + operation + `"}`
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, body)
}

// block blocks the requests that match, until they are released.
func (g *gate) block(matches func(operation, body string) bool) *rule {
	h := g.watch(matches)
	h.open = make(chan struct{})
	return h
}

// watch signals when a request that matches got its response.
func (g *gate) watch(matches func(operation, body string) bool) *rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &rule{matches: matches, passed: make(chan struct{})}
	g.rules = append(g.rules, h)
	return h
}

func (g *gate) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if g.denies(operation) {
		deny(w, operation)
		return
	}
	matching := g.matching(operation, string(body))
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

func (g *gate) matching(operation, body string) []*rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	var matching []*rule
	for _, h := range g.rules {
		if h.matches(operation, body) {
			matching = append(matching, h)
		}
	}
	return matching
}
