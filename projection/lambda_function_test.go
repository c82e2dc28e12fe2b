package projection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// function is a Lambda function. Its processes are killed, and its responses are lost.
type function struct {
	*bundle

	chronicle *chronicle
	// calm reports that nothing fails any more.
	calm    atomic.Bool
	timeout time.Duration
	running sync.WaitGroup

	mu   sync.Mutex
	idle []*instance
	// invoked, killed, lost, twice and failed count invocations, and failures of handlers.
	invoked, killed, lost, twice, failed int
}

// instance is a process of a function.
type instance struct {
	gate  *gate
	group *projection.Group
}

// one reports whether a fault occurs that occurs once in n times, while there are faults.
func (f *function) one(n int, counter *int) bool {
	if f.calm.Load() || chance.IntN(n) > 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	*counter++
	return true
}

// fails makes some calls of a handler fail, panic, take more time than there is, or ignore the
// context.
func (f *function) fails(ctx context.Context, e dynajournal.Event, of *instance) error {
	poison := e.PersistenceID == "id0" && e.SequenceNumber%20 == 3
	switch {
	case poison && !f.calm.Load():
		return errWanted
	case f.one(40, &f.failed):
		return errWanted
	case f.one(80, &f.failed):
		panic("wanted")
	case f.one(80, &f.failed):
		<-ctx.Done()
		return ctx.Err()
	case f.one(300, &f.failed):
		time.Sleep(time.Minute) // it ignores its context
	}
	if of.gate.dead.Load() {
		return errKilled
	}
	return nil
}

type lambdaHandler struct {
	*chronicle

	function *function
	instance *instance
}

func (h *lambdaHandler) Handle(ctx context.Context, e dynajournal.Event) error {
	if err := h.function.fails(ctx, e, h.instance); err != nil {
		return err
	}
	life, err := lifeOf(e)
	h.add(e.PersistenceID, entry{life, e.SequenceNumber, e.SequenceNumber})
	return err
}

type lambdaLedger struct {
	ledger

	function *function
	instance *instance
}

func (h *lambdaLedger) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	if err := h.function.fails(ctx, e, h.instance); err != nil {
		return nil, err
	}
	life, err := lifeOf(e)
	return h.put(e.PersistenceID, fmt.Sprintf("%s %d %d", life, e.SequenceNumber, e.SequenceNumber)), err
}

// launch starts a process. It fails while the store is down.
func (f *function) launch() (*instance, error) {
	i := &instance{gate: f.gate("")}
	settings := f.Config
	settings.Retries = 1
	i.gate.install(&settings)
	j, err := dynajournal.Open(f.Context(), settings)
	if err != nil {
		return nil, err
	}
	f.Cleanup(func() { _ = j.Close() })
	config := onLambda()
	config.Attempts, config.BatchSize, config.Concurrency = 6, 7, 4
	config.RetryShortest, config.RetryLongest = 50*time.Millisecond, time.Second
	i.group, err = projection.New(j, config,
		projection.AtLeastOnce("all", &lambdaHandler{f.chronicle, f, i}),
		projection.Transactional("ledger", &lambdaLedger{ledger{}, f, i}))
	return i, err
}

// take returns a free process, or starts one.
func (f *function) take() (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 && chance.IntN(10) > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return i, nil
	}
	return f.launch()
}

// invoke sends an event to the function, sometimes twice, and sometimes loses its response.
func (f *function) invoke(event json.RawMessage) (json.RawMessage, error) {
	var other sync.WaitGroup
	if f.one(20, &f.twice) {
		other.Go(func() { _, _ = f.once(event) })
	}
	response, err := f.once(event)
	if chance.IntN(2) == 0 {
		other.Wait()
	} else {
		f.running.Go(other.Wait)
	}
	if f.one(20, &f.lost) {
		return nil, errLambda
	}
	return response, err
}

// once invokes a process, which is killed at its deadline at the latest.
func (f *function) once(event json.RawMessage) (json.RawMessage, error) {
	i, err := f.take()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(f.Context(), f.timeout)
	defer cancel()
	var ignored int
	f.mu.Lock()
	f.invoked++
	f.mu.Unlock()
	life := f.timeout
	if f.one(25, &f.killed) {
		life = time.Duration(chance.IntN(int(f.timeout))) + 1
	}
	type result struct {
		response awslambda.Response
		err      error
	}
	over := make(chan result, 1)
	f.running.Go(func() {
		if f.one(30, &ignored) {
			_ = awslambda.Maintain(ctx, i.group)
		}
		response, err := awslambda.Handler(i.group)(ctx, event)
		over <- result{response, err}
	})
	select {
	case r := <-over:
		if f.one(50, &f.killed) { // after its response
			i.gate.dead.Store(true)
		} else {
			f.mu.Lock()
			f.idle = append(f.idle, i)
			f.mu.Unlock()
		}
		if r.err != nil {
			return nil, r.err
		}
		return json.Marshal(r.response)
	case <-time.After(life):
		i.gate.dead.Store(true)
		return nil, errKilled
	}
}
