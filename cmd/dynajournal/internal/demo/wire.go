package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// wire is the network between a process and the engine, on which requests to put an event can get lost.
type wire struct {
	engine aws.HTTPClient
	// dead is closed when the process dies.
	dead chan struct{}

	mu sync.Mutex
	// fate decides on requests to put; nil delivers all of them.
	fate func(put) fate
	// held are the requests that are still under way.
	held []*http.Request
	// missing are the requests that those which wait for complete are waiting for.
	missing  int
	complete chan struct{}
	requests int
}

// put is a request to put an item.
type put struct {
	partition string
	number    int64
}

type fate int

const (
	delivered fate = iota
	answerLost
	heldBack
)

var (
	errDied    = errors.New("the process has died")
	errNothing = errors.New("nothing is under way")
)

func newWire(engine aws.HTTPClient) *wire { return &wire{engine: engine, dead: make(chan struct{})} }

// decide sets what becomes of the next requests.
func (w *wire) decide(f func(put) fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate = f
}

// assemble makes the next requests, so many of them, wait for each other before they are sent. It returns how many requests
// there were since it was called before.
func (w *wire) assemble(count int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := w.requests
	w.requests, w.missing, w.complete = 0, count, make(chan struct{})
	return since
}

// join counts a request, and makes it wait if it is one of those that wait for each other.
func (w *wire) join(ctx context.Context) error {
	w.mu.Lock()
	w.requests++
	complete, waits := w.complete, w.missing > 0
	if waits {
		if w.missing--; w.missing == 0 {
			close(complete)
		}
	}
	w.mu.Unlock()
	if !waits {
		return nil
	}
	select {
	case <-complete:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// die ends the process: no answer reaches it, and it sends nothing any more.
func (w *wire) die() { close(w.dead) }

// Do sends a request.
func (w *wire) Do(request *http.Request) (*http.Response, error) {
	select {
	case <-w.dead:
		return nil, errDied
	default:
	}
	if err := w.join(request.Context()); err != nil {
		return nil, err
	}
	f, err := w.fateOf(request)
	if err != nil {
		return nil, err
	}
	if f == delivered {
		return w.engine.Do(request) //nolint:wrapcheck // as if it were the engine's own
	}
	onItsWay := request.Clone(context.WithoutCancel(request.Context()))
	if f == answerLost {
		if err := w.deliver(onItsWay); err != nil {
			return nil, err
		}
	} else {
		w.mu.Lock()
		w.held = append(w.held, onItsWay)
		w.mu.Unlock()
	}
	select {
	case <-w.dead:
		return nil, errDied
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
}

// fateOf decides on a request. Its body can be read again afterwards.
func (w *wire) fateOf(request *http.Request) (fate, error) {
	w.mu.Lock()
	decide := w.fate
	w.mu.Unlock()
	if decide == nil || !strings.HasSuffix(request.Header.Get("X-Amz-Target"), ".PutItem") {
		return delivered, nil
	}
	body, err := io.ReadAll(request.Body)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return delivered, fmt.Errorf("read a request: %w", err)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var content struct {
		Item struct {
			Par struct{ S string }
			Num struct{ N string }
		}
	}
	if err := json.Unmarshal(body, &content); err != nil {
		return delivered, fmt.Errorf("read a request: %w", err)
	}
	number, err := strconv.ParseInt(content.Item.Num.N, 10, 64)
	if err != nil {
		return delivered, fmt.Errorf("read a request: %w", err)
	}
	return decide(put{content.Item.Par.S, number}), nil
}

// deliver gives a request to the engine; nobody gets the answer.
func (w *wire) deliver(request *http.Request) error {
	answer, err := w.engine.Do(request)
	if err != nil {
		return err //nolint:wrapcheck // as if it were the engine's own
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// deliverLate gives the engine what was held back, and returns the type of error that it answers with.
func (w *wire) deliverLate() (string, error) {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	if len(held) != 1 {
		return "", errNothing
	}
	answer, err := w.engine.Do(held[0])
	if err != nil {
		return "", fmt.Errorf("deliver a request late: %w", err)
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return "", fmt.Errorf("deliver a request late: %w", err)
	}
	var problem struct {
		Type string `json:"__type"`
	}
	if answer.StatusCode == http.StatusOK {
		return "", nil
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		return "", fmt.Errorf("deliver a request late: %w", err)
	}
	_, kind, _ := strings.Cut(problem.Type, "#")
	return kind, nil
}
