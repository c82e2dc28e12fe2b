package sqltest_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
)

// gate blocks the first request to DynamoDB whose body contains a text.
type gate struct {
	text    string
	inner   aws.HTTPClient
	arrived chan struct{}
	passed  chan struct{}
	once    sync.Once
	release func()
	// dead makes all requests fail, as in a process that was killed.
	dead atomic.Bool
}

func newGate(text string) *gate {
	g := &gate{text: text, arrived: make(chan struct{}), passed: make(chan struct{})}
	g.release = sync.OnceFunc(func() { close(g.passed) })
	return g
}

// install makes the requests of a configuration pass through the gate.
func (g *gate) install(c *dynajournal.Config) {
	g.inner = c.AWS.HTTPClient
	c.AWS.HTTPClient = &http.Client{Transport: g}
}

var errKilled = errors.New("the process was killed")

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if g.text != "" && strings.Contains(string(body), g.text) {
		g.once.Do(func() {
			close(g.arrived)
			select {
			case <-g.passed:
			case <-r.Context().Done():
			}
		})
	}
	if g.dead.Load() {
		return nil, errKilled
	}
	return g.inner.Do(r)
}
