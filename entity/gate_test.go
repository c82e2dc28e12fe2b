package entity_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
)

type (
	httpRequest  = http.Request
	httpResponse = http.Response
	// sender sends a request.
	sender = func() (*http.Response, error)
)

// gate can block a journal's requests that write events or the heads of states.
type gate struct {
	inner aws.HTTPClient

	mu   sync.Mutex
	next func(r *http.Request, send sender) (*http.Response, error)
}

// install changes a configuration to send the journal's requests through the gate.
func (g *gate) install(c *dynajournal.Config) {
	g.inner = c.AWS.HTTPClient
	c.AWS.HTTPClient = &http.Client{Transport: g}
}

// at makes the gate call respond with the next request that writes events, instead of sending the
// request.
func (g *gate) at(respond func(r *http.Request, send sender) (*http.Response, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = respond
}

// block holds the next request that writes events. arrived is closed when the request arrives. The
// request is sent when release is called.
func (g *gate) block() (arrived <-chan struct{}, release func()) {
	there, released := make(chan struct{}), make(chan struct{})
	g.at(func(_ *http.Request, send sender) (*http.Response, error) {
		close(there)
		<-released
		return send()
	})
	return there, sync.OnceFunc(func() { close(released) })
}

var errLost = errors.New("the connection was reset")

// lose loses the response to the next request that writes events. The request is performed only if
// done is set.
func (g *gate) lose(done bool) {
	g.at(func(_ *http.Request, send sender) (*http.Response, error) {
		if done {
			response, err := send()
			if err != nil {
				return nil, err
			}
			_ = response.Body.Close()
		}
		return nil, errLost
	})
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return g.inner.Do(r) }
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body := []byte(nil)
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	events := operation == "BatchExecuteStatement" || operation == "PutItem" &&
		(bytes.Contains(body, []byte(`"event"`)) || bytes.Contains(body, []byte(`"writers"`)))
	g.mu.Lock()
	next := g.next
	if events {
		g.next = nil
	}
	g.mu.Unlock()
	if next == nil || !events {
		return send()
	}
	return next(r, send)
}

// single makes the journal try each request once.
func single(c *dynajournal.Config) { c.Retries = -1 }

// detached returns a function that sends a request later, after its caller has gone.
func detached(r *http.Request, inner aws.HTTPClient) sender {
	later := r.Clone(context.Background())
	body, err := io.ReadAll(r.Body)
	return func() (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		later.Body = io.NopCloser(bytes.NewReader(body))
		return inner.Do(later)
	}
}
