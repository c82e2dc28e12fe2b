package explore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// crowd has many entities that write at the same time, with one journal in the process "writer".
type crowd struct {
	*world

	journal *dynajournal.Journal
	writers []*dynajournal.Writer
	results []*outcome
}

// outcome is the result of an append, valid when done is closed.
type outcome struct {
	dynajournal.AppendResult

	err  error
	done chan struct{}
}

// crowded returns the writers of n ids. From now on their requests wait in the network.
func crowded(w *world, n int) *crowd {
	w.Helper()
	c := &crowd{world: w, journal: w.journal("writer")}
	for i := range n {
		c.writers = append(c.writers, c.recover(i))
	}
	w.net.Block("writer")
	return c
}

func (c *crowd) id(i int) string { return fmt.Sprintf("c%02d", i) }

func (c *crowd) recover(i int) *dynajournal.Writer {
	c.Helper()
	writer, err := c.journal.Recover(c.Context(), c.id(i), dynajournal.RecoverOptions{}, nil)
	if err != nil {
		c.Fatal(err)
	}
	return writer
}

// write lets a writer append in the background, and waits until it is blocked.
func (c *crowd) write(ctx context.Context, i int, events ...any) *outcome {
	o := &outcome{done: make(chan struct{})}
	if len(events) == 0 {
		events = []any{fmt.Sprint("event of ", i)}
	}
	go func() {
		defer close(o.done)
		o.AppendResult, o.err = c.writers[i].Append(ctx, events...)
	}()
	synctest.Wait()
	c.results = append(c.results, o)
	return o
}

// gathered lets all writers append. The first ones have requests of their own, which wait; the
// others gather. It delivers the first request, and returns the shared request that is sent then.
func (c *crowd) gathered() *explore.Request {
	c.Helper()
	for i := range c.writers {
		c.write(c.Context(), i)
	}
	c.wantPending(slices.Repeat([]string{"PutItem"}, dynamo.Busy)...)
	c.net.Deliver(c.net.Pending()[0])
	return c.shared()
}

// shared returns the only request of several statements in flight.
func (c *crowd) shared() *explore.Request {
	c.Helper()
	synctest.Wait()
	var found *explore.Request
	for _, r := range c.net.Pending() {
		if r.Operation == "BatchExecuteStatement" {
			if found != nil {
				c.Fatalf("more than one request is shared: %v", c.net.Pending())
			}
			found = r
		}
	}
	if found == nil {
		c.Fatalf("no request is shared: %v", c.net.Pending())
	}
	return found
}

func statements(r *explore.Request) int { return strings.Count(r.Label, "event ") }

func (c *crowd) wantPending(want ...string) {
	c.Helper()
	synctest.Wait()
	var got []string
	for _, r := range c.net.Pending() {
		got = append(got, r.Operation)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.Fatalf("requests %v are in flight, want %v", got, want)
	}
}

// rest delivers everything, and waits for all appends.
func (c *crowd) rest() {
	endPauses()
	c.net.Free("writer")
	for _, o := range c.results {
		<-o.done
	}
}

// wantAll checks that every append succeeded, except the appends of the writers in except, which
// failed with these errors. Acknowledged events must be stored, exactly once.
func (c *crowd) wantAll(except map[int]error) {
	c.Helper()
	c.rest()
	for i, o := range c.results {
		if !errors.Is(o.err, except[i]) {
			c.Errorf("append of %s: %v, want %v", c.id(i), o.err, except[i])
		}
		if except[i] == nil {
			c.wantEvents(i, fmt.Sprint("event of ", i))
		}
	}
}

func (c *crowd) wantEvents(i int, want ...string) {
	c.Helper()
	var got []string
	for e, err := range c.journal.Events(c.Context(), c.id(i), dynajournal.Range{}) {
		if err != nil {
			c.Fatal(err)
		}
		got = append(got, text(e))
	}
	if !slices.Equal(got, want) {
		c.Errorf("%s has %q, want %q", c.id(i), got, want)
	}
}

const several = dynamo.Busy + 5

func TestWritesAreGatheredWhileRequestsAreInFlight(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, several)
		if r := c.gathered(); statements(r) != 5 {
			w.Errorf("%d statements went together, want 5: %v", statements(r), r)
		}
		c.wantAll(nil)
		var sum dynajournal.Cost
		for _, o := range c.results {
			sum = sum.Add(o.Cost)
			if o.Cost.WriteUnits != 2 { // the first event adds its id to the index
				w.Errorf("an event's cost: %+v, want 2 write units", o.Cost)
			}
		}
		if want := (dynajournal.Cost{Requests: dynamo.Busy + 1, WriteUnits: 2 * several}); sum != want {
			w.Errorf("cost of all %+v, want %+v", sum, want)
		}
	})
}

// A full request does not wait for requests in flight.
func TestWholeRequestGoesAtOnce(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, dynamo.Busy+25+3)
		for i := range c.writers {
			c.write(w.Context(), i)
		}
		if r := c.shared(); statements(r) != 25 {
			w.Errorf("%d statements went together, want 25", statements(r))
		}
		c.wantAll(nil)
	})
}

// Members of one atomic write are sent together, without waiting for requests in flight. The
// members of a large one are sent in several requests in parallel.
func TestLargeAtomicWriteGoesAtOnce(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, dynamo.Busy+1)
		for i := range dynamo.Busy {
			c.write(w.Context(), i)
		}
		c.write(w.Context(), dynamo.Busy, slices.Repeat([]any{"member"}, 60)...)
		c.wantPending(append(slices.Repeat([]string{"BatchExecuteStatement"}, 3), slices.Repeat([]string{"PutItem"}, dynamo.Busy)...)...)
		c.rest()
		if o := c.results[dynamo.Busy]; o.err != nil || o.Cost.Requests != 3 {
			w.Errorf("error %v, cost %+v, want 3 requests", o.err, o.Cost)
		}
		c.wantEvents(dynamo.Busy, slices.Repeat([]string{"member"}, 60)...)
	})
}

// A request that is being retried delays no other request: during the pause it does not count as in
// flight.
func TestGroupCommit_PauseDelaysNoOther(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		w.config.BackoffBase, w.config.BackoffCap = time.Second, time.Second
		c := crowded(w, dynamo.Busy+1)
		for i := range dynamo.Busy {
			c.write(w.Context(), i)
		}
		for _, r := range w.net.Pending() {
			w.net.Refuse(r, http.StatusBadRequest, "ThrottlingException")
		}
		c.write(w.Context(), dynamo.Busy)
		c.wantPending("PutItem")
		w.net.Free("writer")
		c.wantAll(nil)
	})
}

func TestSharedRequestThatIsLost(t *testing.T) {
	for name, inject := range map[string]func(*explore.Network, *explore.Request){
		"response lost":     func(n *explore.Network, r *explore.Request) { n.LoseAnswer(r) },
		"lost":              func(n *explore.Network, r *explore.Request) { n.Lose(r) },
		"delayed":           func(n *explore.Network, r *explore.Request) { n.Delay(r) },
		"internal error":    func(n *explore.Network, r *explore.Request) { n.Refuse(r, 500, "InternalServerError") },
		"throttled":         func(n *explore.Network, r *explore.Request) { n.Refuse(r, 400, "ThrottlingException") },
		"garbage":           func(n *explore.Network, r *explore.Request) { n.Answer(r, []byte("<html>")) },
		"too few responses": func(n *explore.Network, r *explore.Request) { n.Answer(r, []byte(`{"Responses":[{},{}]}`)) },
		"no responses":      func(n *explore.Network, r *explore.Request) { n.Answer(r, []byte(`{}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			inGroupWorld(t, func(w *world) {
				c := crowded(w, several)
				inject(w.net, c.gathered())
				c.wantAll(nil)
				for i := range c.writers { // no writer gets another's outcome
					c.write(w.Context(), i, "next")
				}
				for i, o := range c.results[several:] {
					if <-o.done; o.err != nil {
						w.Errorf("the next append of %s: %v", c.id(i), o.err)
					}
				}
				for _, late := range w.net.Late() {
					w.net.Deliver(late)
				}
				for i := range c.writers {
					c.wantEvents(i, fmt.Sprint("event of ", i), "next")
				}
			})
		})
	}
}

// Every response to the shared request is lost. The outcome is unknown for each of its writers, and
// only for them.
func TestSharedRequestWhoseOutcomeStaysUnknown(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		w.config.Retries = -1
		c := crowded(w, several)
		w.net.LoseAnswer(c.gathered())
		c.rest()
		for i, o := range c.results {
			if i < dynamo.Busy && o.err != nil || i >= dynamo.Busy && !errors.Is(o.err, dynajournal.ErrOutcomeUnknown) {
				w.Errorf("append of %s: %v", c.id(i), o.err)
			}
			c.wantEvents(i, fmt.Sprint("event of ", i))
		}
	})
}

// One of the events in a shared request conflicts with another writer.
func TestConflictInASharedRequestIsItsOwn(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, several)
		thief, err := w.journal("thief").Recover(w.Context(), c.id(several-1), dynajournal.RecoverOptions{}, nil)
		if err != nil {
			w.Fatal(err)
		}
		if _, err := thief.Append(w.Context(), "foreign"); err != nil {
			w.Fatal(err)
		}
		c.gathered()
		c.rest()
		for i, o := range c.results[:several-1] {
			if o.err != nil {
				w.Errorf("append of %s: %v", c.id(i), o.err)
			}
		}
		var conflict *dynajournal.ConflictError
		if !errors.As(c.results[several-1].err, &conflict) || conflict.WriterUUID != thief.WriterUUID() {
			w.Errorf("got %v, want a conflict with %s", c.results[several-1].err, thief.WriterUUID())
		}
		c.wantEvents(several-1, "foreign")
	})
}

// Two writers of one id in one journal never share a request, which the service would reject as a
// whole.
func TestWritersOfOneIDShareNoRequest(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, several)
		w.net.Free("writer")
		c.writers = append(c.writers, c.recover(several-1))
		w.net.Block("writer")
		first := c.gathered()
		if statements(first) != 5 || strings.Count(first.Label, c.id(several-1)) != 1 {
			w.Errorf("shared: %v", first)
		}
		c.rest()
		if a, b := c.results[several-1].err, c.results[several].err; a != nil || !errors.Is(b, dynajournal.ErrWriterConflict) {
			w.Errorf("two writers of one id: %v, %v, want nil and a conflict", a, b)
		}
	})
}

// Errors of single statements, in a response with status 200.
func TestErrorOfOneStatement(t *testing.T) {
	for _, f := range []struct {
		code    string
		applied bool
		times   int
		want    error
	}{
		{code: "ThrottlingError", times: 1},
		{code: "ProvisionedThroughputExceeded", times: 1},
		{code: "RequestLimitExceeded", times: 1},
		{code: "TransactionConflict", times: 1},
		{code: "InternalServerError", times: 1},
		{code: "InternalServerError", applied: true, times: 1},
		{code: "ThrottlingError", applied: true, times: 1},
		{code: "DuplicateItem", applied: true, times: 1},
		{code: "ValidationError"}, // PutItem accepts it
		{code: "AccessDenied"},
		{code: "ItemCollectionSizeLimitExceeded", want: dynajournal.ErrCollectionFull},
		{code: "ResourceNotFound", want: dynajournal.ErrTableNotFound},
	} {
		t.Run(fmt.Sprintf("%s, applied %v", f.code, f.applied), func(t *testing.T) {
			inGroupWorld(t, func(w *world) {
				c := crowded(w, several)
				_, err := w.engine.Inject(embedded.Fault{
					Effect: embedded.EffectStatementErrors, Code: f.code, Applied: f.applied, Times: f.times,
					Key: "journal-P-" + c.id(several-1) + "-*",
				})
				if err != nil {
					w.Fatal(err)
				}
				w.net.Deliver(c.gathered())
				synctest.Wait()
				// No append waits for the one that failed.
				for i := dynamo.Busy; i < several-1; i++ {
					select {
					case <-c.results[i].done:
					default:
						w.Errorf("%s waits", c.id(i))
					}
				}
				c.wantAll(map[int]error{several - 1: f.want})
			})
		})
	}
}

// A statement that stays throttled is retried until its time is over, like a PutItem.
func TestThrottledStatementIsTriedUntilItsTimeIsOver(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		w.config.Retries, w.config.OperationTimeout = 3, 10*time.Second
		c := crowded(w, dynamo.Busy+2)
		for i := range dynamo.Busy {
			c.write(w.Context(), i)
		}
		c.write(w.Context(), dynamo.Busy, "a", "b")
		c.write(w.Context(), dynamo.Busy+1)
		w.net.Deliver(w.net.Pending()[0])
		start := time.Now()
		tries := 0
		for {
			time.Sleep(time.Microsecond) // it is answered before the time can be over
			synctest.Wait()
			pending := slices.DeleteFunc(w.net.Pending(), func(r *explore.Request) bool { return r.Operation != "BatchExecuteStatement" })
			if len(pending) == 0 && time.Since(start) < w.config.OperationTimeout {
				time.Sleep(time.Millisecond)
				continue
			}
			if len(pending) == 0 {
				if passed := time.Since(start); tries < 10 || passed < w.config.OperationTimeout {
					w.Errorf("%d attempts in %v", tries-1, passed)
				}
				break
			}
			tries++
			one := `{"Error":{"Code":"ThrottlingError","Message":"slow down"}}`
			w.net.Answer(pending[0], []byte(`{"Responses":[`+strings.Repeat(one+",", statements(pending[0])-1)+one+`]}`))
		}
		c.rest()
		requests := 0
		for _, o := range c.results[dynamo.Busy:] {
			if !errors.Is(o.err, dynajournal.ErrThrottled) {
				w.Errorf("got %v, want %v", o.err, dynajournal.ErrThrottled)
			}
			requests += o.Cost.Requests
		}
		if _, err := c.writers[dynamo.Busy].Append(w.Context(), "a", "b"); err != nil {
			w.Errorf("nothing was written, so the writer lives: %v", err)
		}
	})
}

// records counts log records above level debug, where each request is logged.
type records struct {
	mu sync.Mutex
	n  int
	slog.Handler
}

func (r *records) Enabled(_ context.Context, level slog.Level) bool { return level > slog.LevelDebug }

func (r *records) Handle(context.Context, slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return nil
}

func (r *records) logged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (w *world) logs() *records {
	r := &records{Handler: slog.DiscardHandler}
	w.config.Logger = slog.New(r)
	return r
}

// If the service rejects PartiQL, the journal logs that once, and continues without it.
func TestServiceThatRefusesPartiQL(t *testing.T) {
	lacking := []embedded.Option{embedded.WithoutFeatures(embedded.PartiQL)}
	for name, s := range map[string]struct {
		opts   []embedded.Option
		fault  embedded.Fault
		refuse string
	}{
		"it has none":                     {opts: lacking},
		"access is denied each statement": {fault: embedded.Fault{Effect: embedded.EffectStatementErrors, Code: "AccessDenied"}},
		"access is denied the call":       {refuse: "AccessDeniedException"},
		"it does not understand":          {refuse: "ValidationException"},
		"it stops to know it":             {refuse: "UnknownOperationException"},
	} {
		t.Run(name, func(t *testing.T) {
			inGroupWorld(t, func(w *world) {
				if s.fault.Effect != "" {
					if _, err := w.engine.Inject(s.fault); err != nil {
						w.Fatal(err)
					}
				}
				log := w.logs()
				c := crowded(w, several)
				shared := c.gathered()
				if s.refuse == "" {
					w.net.Deliver(shared)
				} else {
					w.net.Refuse(shared, http.StatusBadRequest, s.refuse)
				}
				c.wantAll(nil)
				if log.logged() != 1 {
					w.Errorf("%d log records, want 1", log.logged())
				}
				w.net.Block("writer")
				c.results = nil
				for i := range c.writers {
					c.write(w.Context(), i, "next")
				}
				c.wantPending(slices.Repeat([]string{"PutItem"}, several)...)
				c.rest()
				if result, err := c.writers[0].Append(w.Context(), "a", "b", "c"); err != nil || result.Cost.Requests != 3 {
					w.Errorf("an atomic write of three: error %v, cost %+v, want 3 requests", err, result.Cost)
				}
				if log.logged() != 1 {
					w.Errorf("%d log records, want 1", log.logged())
				}
			}, s.opts...)
		})
	}
}

// An event that the service rejects in any form fails alone, and does not turn off group commit.
func TestEventThatIsAlwaysRejectedFailsAlone(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		log := w.logs()
		c := crowded(w, several)
		w.net.Refuse(c.gathered(), http.StatusBadRequest, "ValidationException")
		synctest.Wait()
		for _, r := range w.net.Pending() {
			if strings.Contains(r.Label, c.id(several-1)) {
				w.net.Refuse(r, http.StatusBadRequest, "ValidationException")
			} else {
				w.net.Deliver(r)
			}
		}
		c.wantAll(map[int]error{several - 1: dynajournal.ErrInvalidRequest})
		w.net.Block("writer")
		c.results = nil
		for i := range c.writers {
			c.write(w.Context(), i, "next")
		}
		w.net.Deliver(w.net.Pending()[0])
		c.shared()
		c.rest()
		if log.logged() != 0 {
			w.Errorf("%d log records, want none", log.logged())
		}
	})
}

// A caller that leaves while its event gathers takes it back. The others are sent, and its writer
// continues.
func TestCancelWhileGathering(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, several)
		ctx, cancel := context.WithCancel(w.Context())
		for i := range c.writers {
			if i == several-1 {
				c.write(ctx, i)
			} else {
				c.write(w.Context(), i)
			}
		}
		cancel()
		synctest.Wait()
		gone := c.results[several-1]
		select {
		case <-gone.done:
		default:
			w.Fatal("a cancelled append waits")
		}
		if !errors.Is(gone.err, context.Canceled) || errors.Is(gone.err, dynajournal.ErrOutcomeUnknown) {
			w.Errorf("got %v", gone.err)
		}
		w.net.Deliver(w.net.Pending()[0])
		if r := c.shared(); statements(r) != 4 {
			w.Errorf("%d statements went together, want 4", statements(r))
		}
		c.wantAll(map[int]error{several - 1: context.Canceled})
		if result, err := c.writers[several-1].Append(w.Context(), "again"); err != nil || result.First != 1 {
			w.Errorf("append after a cancelled one: %+v, %v", result, err)
		}
		c.wantEvents(several-1, "again")
	})
}

// A caller that leaves after its event was sent leaves it to the journal. No other caller is
// affected.
func TestCancelWhileTheSharedRequestIsInFlight(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		c := crowded(w, several)
		ctx, cancel := context.WithCancel(w.Context())
		for i := range c.writers {
			if i == several-1 {
				c.write(ctx, i)
			} else {
				c.write(w.Context(), i)
			}
		}
		w.net.Deliver(w.net.Pending()[0])
		shared := c.shared()
		cancel()
		synctest.Wait()
		if o := c.results[several-1]; !errors.Is(o.err, dynajournal.ErrOutcomeUnknown) {
			w.Errorf("got %v, want %v", o.err, dynajournal.ErrOutcomeUnknown)
		}
		w.net.Deliver(shared)
		c.wantAll(map[int]error{several - 1: dynajournal.ErrOutcomeUnknown})
		c.wantEvents(several-1, fmt.Sprint("event of ", several-1))
	})
}

// After many writers whose calls all end early, nothing is left.
func TestManyCancelledWriters_LeaveNothing(t *testing.T) {
	inGroupWorld(t, func(w *world) {
		w.config.MaxConnections = 3
		c := crowded(w, 200)
		ctx, cancel := context.WithCancel(w.Context())
		for i := range c.writers {
			c.write(ctx, i)
		}
		under := w.net.Pending()
		if len(under) != 3 {
			w.Errorf("%d requests are in flight, want 3", len(under))
		}
		cancel()
		synctest.Wait()
		sent := 0
		for _, o := range c.results {
			<-o.done
			if errors.Is(o.err, dynajournal.ErrOutcomeUnknown) {
				sent++
			} else if !errors.Is(o.err, context.Canceled) {
				w.Errorf("got %v, want %v", o.err, context.Canceled)
			}
		}
		want := 0
		for _, r := range under {
			want += statements(r)
		}
		if sent != want {
			w.Errorf("%d appends were sent, want the %d of the requests in flight", sent, want)
		}
		w.net.Free("writer")
		synctest.Wait()
		if late := w.net.Pending(); len(late) != 0 {
			w.Errorf("sent afterwards: %v", late)
		}
	})
}

// Close waits for shared requests and for gathering events, and ends both when its patience is
// over.
func TestCloseWhileWritesAreGathered(t *testing.T) {
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprintf("with a response %v", answered), func(t *testing.T) {
			inGroupWorld(t, func(w *world) {
				c := crowded(w, several)
				for i := range c.writers {
					c.write(w.Context(), i)
				}
				closed := do(func() (struct{}, error) { return struct{}{}, c.journal.Close() })
				synctest.Wait()
				if answered {
					w.net.Free("writer")
				}
				if _, err := closed(); err != nil {
					w.Error(err)
				}
				for i, o := range c.results {
					<-o.done
					switch {
					case answered && o.err != nil:
						w.Errorf("append of %s: %v", c.id(i), o.err)
					case !answered && i < dynamo.Busy && !errors.Is(o.err, dynajournal.ErrOutcomeUnknown):
						w.Errorf("append of %s, which was sent: %v", c.id(i), o.err)
					case !answered && o.err == nil:
						w.Errorf("append of %s succeeded without a response", c.id(i))
					}
				}
				if _, err := c.writers[0].Append(w.Context(), "too late"); !errors.Is(err, dynajournal.ErrClosed) && !errors.Is(err, dynajournal.ErrWriterEnded) {
					w.Errorf("append after Close: %v", err)
				}
			})
		})
	}
}
