package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// hedges are the hedged reads of a client: a read that is slow is sent a second time, and the first
// success counts (Dean and Barroso, The Tail at Scale, CACM 2013). What is slow is measured, for
// each operation. docs/decisions/0019-hedged-reads.md has the measurements.
//
// Invariants:
//   - A request that writes is sent once for each attempt.
//   - A second request takes a free slot, and never waits for one.
//   - At most one of readsPerHedge reads is sent a second time.
type hedges struct {
	client *Client
	times  sync.Map // of *readTimes by operation
}

type hedgedKey struct{}

// Hedged returns a context whose reads are hedged, if the client hedges. Writes are not.
func Hedged(ctx context.Context) context.Context { return context.WithValue(ctx, hedgedKey{}, true) }

// of returns the hedge of an attempt, nil if it is sent once.
func (h *hedges) of(a *attempts) *hedge {
	if h == nil || a.write || a.ctx.Value(hedgedKey{}) == nil {
		return nil
	}
	times, ok := h.times.Load(a.operation)
	if !ok {
		times, _ = h.times.LoadOrStore(a.operation, &readTimes{})
	}
	return &hedge{client: h.client, times: times.(*readTimes)} //nolint:forcetypeassert // the map has nothing else
}

// hedge is the sending of an attempt whose request may be sent a second time.
type hedge struct {
	client *Client
	times  *readTimes
	// twice reports whether there was a second request.
	twice atomic.Bool
	// won reports whether one of the requests has the response that counts.
	won atomic.Bool
}

type hedgeKey struct{}

// within returns a context in which transport hedges the request.
func (h *hedge) within(ctx context.Context) context.Context {
	if h == nil {
		return ctx
	}
	return context.WithValue(ctx, hedgeKey{}, h)
}

// cost returns what an attempt has cost of which one request has cost so much. A second request has
// the units of the first: the service may have done both, and says it of one.
func (h *hedge) cost(stated Cost) Cost {
	if h == nil || !h.twice.Load() {
		return stated
	}
	return stated.Add(stated)
}

// answer is the outcome of a request.
type answer struct {
	response *http.Response
	err      error
}

func (a answer) succeeded() bool { return a.err == nil && a.response.StatusCode == http.StatusOK }

// discard closes the response of a request that another one was faster than.
func (a answer) discard() {
	if a.err == nil {
		_ = a.response.Body.Close()
	}
}

// exchange sends a request and receives the whole response.
type exchange func(*http.Request) (*http.Response, error)

func (e exchange) once(r *http.Request) answer {
	response, err := e(r) //nolint:bodyclose // whoever gets the answer closes it
	return answer{response, err}
}

// send sends a request, and a second time when it is slow. It returns the first success, and
// otherwise the outcome of the first request.
func (h *hedge) send(r *http.Request, exchange exchange) (*http.Response, error) {
	began := time.Now()
	got := h.race(r, exchange)
	if got.succeeded() {
		h.times.took(time.Since(began))
	}
	return got.response, got.err
}

// race sends a request, and the same one when it is slow. The request that is too late is
// cancelled.
func (h *hedge) race(r *http.Request, exchange exchange) answer {
	slow := h.times.limit()
	if slow == 0 || r.Body == nil {
		return exchange.once(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{nil, fmt.Errorf("read the request: %w", err)}
	}
	request := func() (*http.Request, context.CancelFunc) {
		ctx, cancel := context.WithCancel(r.Context())
		same := r.Clone(ctx)
		same.Body = io.NopCloser(bytes.NewReader(body))
		return same, cancel
	}
	first, stopFirst := request()
	second, stopSecond := request()
	late := make(chan answer)
	over := make(chan struct{})
	timer := time.AfterFunc(slow, func() {
		got := h.again(second, exchange, stopFirst)
		select {
		case late <- got:
		case <-over:
			got.discard()
		}
	})
	got := exchange.once(first)
	switch {
	case timer.Stop():
		stopSecond()
	case got.succeeded() && h.won.CompareAndSwap(false, true):
		close(over)
		stopSecond()
	default:
		if other := <-late; other.succeeded() {
			got.discard()
			got = other
		} else {
			other.discard()
			stopSecond()
		}
	}
	return got
}

// errNotAgain is the outcome of a second request that was not sent.
var errNotAgain = fmt.Errorf("a second time: %w", errNotSent)

// again sends the second request, if there is a free slot and not too many others were sent. If its
// success is the first, it stops the first request.
func (h *hedge) again(r *http.Request, exchange exchange, stopFirst context.CancelFunc) answer {
	slot := h.client.Reserve()
	defer slot.Release()
	if !slot.Held() || r.Context().Err() != nil || !h.times.spend() {
		return answer{nil, errNotAgain}
	}
	h.twice.Store(true)
	got := exchange.once(r)
	if got.succeeded() {
		if !h.won.CompareAndSwap(false, true) {
			got.discard()
			return answer{nil, errNotAgain}
		}
		stopFirst()
	}
	return got
}
