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

// network is the connection between a process and the engine. It can lose requests that put an
// event.
type network struct {
	engine aws.HTTPClient
	// dead is closed when the process crashes.
	dead chan struct{}

	mu sync.Mutex
	// outcome selects the outcome of each put request. If it is nil, all requests are delivered.
	outcome func(put) outcome
	// blocked has the requests that are still in flight.
	blocked []*http.Request
	// missing is the number of requests that must arrive before complete is closed.
	missing  int
	complete chan struct{}
	requests int
}

// put is a request to put an item.
type put struct {
	partition string
	number    int64
}

type outcome int

const (
	delivered outcome = iota
	answerLost
	blockedRequest
)

var (
	errDied    = errors.New("the process has crashed")
	errNothing = errors.New("nothing is in flight")
)

func newNetwork(engine aws.HTTPClient) *network {
	return &network{engine: engine, dead: make(chan struct{})}
}

// decide sets the function that selects the outcomes of the next requests.
func (n *network) decide(f func(put) outcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outcome = f
}

// assemble makes the next count requests wait for each other before they are sent. It returns the
// number of requests since the previous call.
func (n *network) assemble(count int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	since := n.requests
	n.requests, n.missing, n.complete = 0, count, make(chan struct{})
	return since
}

// join counts a request, and makes it wait if assemble asked for that.
func (n *network) join(ctx context.Context) error {
	n.mu.Lock()
	n.requests++
	complete, waits := n.complete, n.missing > 0
	if waits {
		if n.missing--; n.missing == 0 {
			close(complete)
		}
	}
	n.mu.Unlock()
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

// die crashes the process: it receives and sends nothing any more.
func (n *network) die() { close(n.dead) }

// Do sends a request.
func (n *network) Do(request *http.Request) (*http.Response, error) {
	select {
	case <-n.dead:
		return nil, errDied
	default:
	}
	if err := n.join(request.Context()); err != nil {
		return nil, err
	}
	f, err := n.outcomeOf(request)
	if err != nil {
		return nil, err
	}
	if f == delivered {
		return n.engine.Do(request)
	}
	onItsWay := request.Clone(context.WithoutCancel(request.Context()))
	if f == answerLost {
		if err := n.deliver(onItsWay); err != nil {
			return nil, err
		}
	} else {
		n.mu.Lock()
		n.blocked = append(n.blocked, onItsWay)
		n.mu.Unlock()
	}
	select {
	case <-n.dead:
		return nil, errDied
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
}

// outcomeOf returns the outcome of a request. The body of the request can be read again afterwards.
func (n *network) outcomeOf(request *http.Request) (outcome, error) {
	n.mu.Lock()
	decide := n.outcome
	n.mu.Unlock()
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

// deliver sends a request to the engine, and discards the response.
func (n *network) deliver(request *http.Request) error {
	answer, err := n.engine.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// deliverLate delivers the blocked request, and returns the type of the engine's error.
func (n *network) deliverLate() (string, error) {
	n.mu.Lock()
	blocked := n.blocked
	n.blocked = nil
	n.mu.Unlock()
	if len(blocked) != 1 {
		return "", errNothing
	}
	answer, err := n.engine.Do(blocked[0])
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
