package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// canceller cancels a context at one request of an operation.
type canceller struct {
	inner aws.HTTPClient
	// left counts down to the request. cancel cancels the context.
	left   atomic.Int64
	cancel context.CancelFunc
	// late cancels it after the response instead of before sending.
	late bool
}

// RoundTrip sends a request, and cancels the context at the chosen request.
func (c *canceller) RoundTrip(r *http.Request) (*http.Response, error) {
	now := c.left.Add(-1) == 0
	if now && !c.late {
		c.cancel()
	}
	response, err := c.inner.Do(r)
	if now && c.late {
		c.cancel()
	}
	return response, err
}

// arm returns a new context, which the canceller cancels at the n-th request from now on.
func (c *canceller) arm(parent context.Context, n int64, late bool) context.Context {
	ctx, cancel := context.WithCancel(parent)
	c.cancel, c.late = cancel, late
	c.left.Store(n)
	return ctx
}

// fired reports whether the request was reached.
func (c *canceller) fired() bool { return c.left.Load() <= 0 }

// cancelled is the environment of a cancelled operation: its own journal, and another one that
// reads.
type cancelled struct {
	*testing.T

	at          *canceller
	journal     *dynajournal.Journal
	undisturbed *dynajournal.Journal
	pid         string
}

// cancelledOperations are cancelled operations, each with checks afterwards. They start with an
// entity of 98 events, of which 3 are deleted.
var cancelledOperations = map[string]func(c *cancelled, ctx func() context.Context){
	"Open": func(c *cancelled, ctx func() context.Context) {
		config := dynajournal.Config{AWS: openEngine(c).AWSConfig()}
		createTables(c, config, kinds["native"])
		c.at.inner = config.AWS.HTTPClient
		config.AWS.HTTPClient = &http.Client{Transport: c.at}
		j, err := dynajournal.Open(ctx(), config)
		c.wantCancelled(err)
		if err == nil {
			_ = j.Close()
		} else if j != nil {
			c.Error("Open returned a journal and an error")
		}
	},
	"CreateTables": func(c *cancelled, ctx func() context.Context) {
		aside := openEngine(c).AWSConfig()
		config := dynajournal.Config{AWS: aside}
		c.at.inner = aside.HTTPClient
		config.AWS.HTTPClient = &http.Client{Transport: c.at}
		c.wantCancelled(dynajournal.CreateTables(ctx(), config, kinds["native"]))
		config.AWS = aside
		createTables(c, config, kinds["native"]) // finishes the creation
		written(c, openJournal(c, config), "a", 1)
	},
	"Recover": func(c *cancelled, ctx func() context.Context) {
		w, err := c.journal.Recover(ctx(), c.pid, dynajournal.RecoverOptions{}, noHandler)
		c.wantCancelled(err)
		if err != nil && w != nil {
			c.Error("Recover returned a writer and an error")
		}
		c.wantAfter("4-98", 98)
	},
	"Events": func(c *cancelled, ctx func() context.Context) {
		c.wantCancelled(readError(ctx(), c.journal, c.pid, dynajournal.Range{}))
		c.wantAfter("4-98", 98)
	},
	"Bounds": func(c *cancelled, ctx func() context.Context) {
		_, err := c.journal.Bounds(ctx(), c.pid)
		c.wantCancelled(err)
	},
	"List": func(c *cancelled, ctx func() context.Context) {
		_, err := c.journal.List(ctx(), c.pid)
		c.wantCancelled(err)
	},
	"Append": func(c *cancelled, ctx func() context.Context) {
		w := recovered(c, c.journal, c.pid)
		_, err := w.Append(ctx(), "event")
		c.wantWritten(w, err, 1)
	},
	"Append of an atomic write over a boundary": func(c *cancelled, ctx func() context.Context) {
		w := recovered(c, c.journal, c.pid)
		_, err := w.Append(ctx(), "event", "event", "event", "event")
		c.wantWritten(w, err, 4)
	},
	"AppendEach": func(c *cancelled, ctx func() context.Context) {
		w := recovered(c, c.journal, c.pid)
		outcomes, err := w.AppendEach(ctx(), "event", "event", "event")
		written, tried := 0, 0
		for _, o := range outcomes {
			switch {
			case o.Err == nil:
				written, tried = written+1, tried+1
			case errors.Is(o.Err, dynajournal.ErrOutcomeUnknown):
				tried++
			}
		}
		c.wantCancelled(err)
		c.awaitEnd()
		if b := readBounds(c, c.undisturbed, c.pid); b.Highest < int64(98+written) || b.Highest > int64(98+tried) {
			c.Errorf("%d events were acknowledged and %d tried, the highest number is %d", written, tried, b.Highest)
		}
	},
	"DeleteTo": func(c *cancelled, ctx func() context.Context) {
		w := recovered(c, c.journal, c.pid)
		_, err := w.DeleteTo(ctx(), 60)
		c.wantCancelled(err)
		if got := numbersText(numbersOf(readEvents(c, c.undisturbed, c.pid, dynajournal.Range{}))); got != "4-98" && got != "61-98" {
			c.Errorf("a reader of a deletion that was cut short sees %q, want all of before or of afterwards", got)
		}
		if _, err := w.DeleteTo(c.Context(), 60); err != nil {
			c.Errorf("DeleteTo again, by the same writer: %v", err)
		}
		if _, err := w.Append(c.Context(), "event"); err != nil {
			c.Errorf("Append after DeleteTo was cancelled: %v", err)
		}
		c.wantAfter("61-99", 99)
	},
	"Purge": func(c *cancelled, ctx func() context.Context) {
		_, err := recovered(c, c.journal, c.pid).Purge(ctx(), dynajournal.PurgeOptions{})
		c.wantCancelled(err)
		if _, err := recovered(c, c.undisturbed, c.pid).Purge(c.Context(), dynajournal.PurgeOptions{}); err != nil {
			c.Errorf("Purge again, by a new writer: %v", err)
		}
		b := readBounds(c, c.undisturbed, c.pid)
		if b.Highest < 98 { // each purge may use a number itself
			c.Errorf("after the purge the highest number is %d, which was 98", b.Highest)
		}
		c.wantAfter("", b.Highest)
	},
	"Purge at once": func(c *cancelled, ctx func() context.Context) {
		_, err := recovered(c, c.journal, c.pid).Purge(ctx(), dynajournal.PurgeOptions{Now: true})
		c.wantCancelled(err)
		if _, err := recovered(c, c.undisturbed, c.pid).Purge(c.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			c.Errorf("Purge again, by a new writer: %v", err)
		}
		c.wantAfter("", 0)
	},
}

// TestCancelledAtEveryRequest cancels the context of each operation at each of its requests, before
// it is sent and after its response.
func TestCancelledAtEveryRequest(t *testing.T) {
	t.Parallel()
	for name, operation := range cancelledOperations {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after the answer %v", name, late), func(t *testing.T) {
				t.Parallel()
				cancelEach(t, operation, late)
			})
		}
	}
}

func cancelEach(t *testing.T, operation func(*cancelled, func() context.Context), late bool) {
	t.Helper()
	aside := openEngine(t).AWSConfig()
	config := dynajournal.Config{AWS: aside}
	createTables(t, config, kinds["native"])
	at := &canceller{inner: aside.HTTPClient}
	disturbed := config
	disturbed.AWS.HTTPClient = &http.Client{Transport: at}
	undisturbed := openJournal(t, config)
	const most = 200
	for n := int64(1); n <= most; n += int64(testsize.Of(4, 1)) {
		pid := fmt.Sprintf("a%d", n)
		w := written(t, undisturbed, pid, 1)
		events := make([]any, 97)
		for i := range events {
			events[i] = "event"
		}
		if _, err := w.Append(t.Context(), events...); err != nil {
			t.Fatalf("Append: %v", err)
		}
		if _, err := w.DeleteTo(t.Context(), 3); err != nil {
			t.Fatalf("DeleteTo: %v", err)
		}
		c := &cancelled{T: t, at: at, journal: openJournal(t, disturbed), undisturbed: undisturbed, pid: pid}
		operation(c, func() context.Context { return at.arm(t.Context(), n, late) })
		if !at.fired() {
			if n == 1 {
				t.Error("the operation sent nothing")
			}
			return
		}
	}
	t.Errorf("the operation sends more than %d requests", most)
}

// wantCancelled checks that the error is the context's, or nil if the operation did not notice the
// end of the context.
func (c *cancelled) wantCancelled(err error) {
	c.Helper()
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		c.Errorf("the error is %v, want the context's", err)
	case err != nil && !c.at.fired():
		c.Errorf("the error is %v, but the context did not end", err)
	case err == nil && c.at.fired() && !c.at.late:
		c.Logf("the context ended at request, and the operation ended well")
	}
}

// awaitEnd waits for the requests in flight.
func (c *cancelled) awaitEnd() {
	c.Helper()
	if err := c.journal.Close(); err != nil {
		c.Errorf("Close: %v", err)
	}
}

// wantWritten checks a cancelled append. It must report the cancellation or be acknowledged, and
// its events must be stored completely or not at all.
func (c *cancelled) wantWritten(w *dynajournal.Writer, err error, n int64) {
	c.Helper()
	c.wantCancelled(err)
	if err != nil {
		wantError(c, "a cancelled Append", err, dynajournal.ErrOutcomeUnknown)
		_, again := w.Append(c.Context(), "event")
		wantError(c, "Append after an unknown outcome", again, dynajournal.ErrWriterEnded)
	}
	c.awaitEnd()
	w = recovered(c, c.undisturbed, c.pid)
	next, nextErr := w.NextSequenceNumber(c.Context())
	if nextErr != nil || next != 99+n && (err == nil || next != 99) {
		c.Errorf("after an append that gave %v, the next number is %d (%v)", err, next, nextErr)
	}
	c.wantAfter(numbersText(numbersFrom(4, next-1)), next-1)
}

func numbersFrom(first, last int64) []int64 {
	var numbers []int64
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// wantAfter checks the stored events, and that the next append succeeds.
func (c *cancelled) wantAfter(want string, highest int64) {
	c.Helper()
	c.awaitEnd()
	if got := numbersText(numbersOf(readEvents(c, c.undisturbed, c.pid, dynajournal.Range{}))); got != want {
		c.Errorf("afterwards the events are %q, want %q", got, want)
	}
	result, err := recovered(c, c.undisturbed, c.pid).Append(c.Context(), "event")
	if err != nil || result.First != highest+1 {
		c.Errorf("afterwards Append gave %+v, %v; want %d", result, err, highest+1)
	}
}

// TestCancelledBefore gives each operation a context that has ended. Nothing must be sent, and a
// writer must stay usable.
func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	s := setup(t, kinds["native"])
	j, requests := s.journal, s.requests
	w := written(t, j, "a", 3)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := requests.requests.Load()
	for name, call := range map[string]func() error{
		"Recover":            func() error { _, err := j.Recover(ended, "a", dynajournal.RecoverOptions{}, noHandler); return err },
		"Events":             func() error { return readError(ended, j, "a", dynajournal.Range{}) },
		"Bounds":             func() error { _, err := j.Bounds(ended, "a"); return err },
		"List":               func() error { _, err := j.List(ended, "a"); return err },
		"Append":             func() error { _, err := w.Append(ended, "event"); return err },
		"AppendEach":         func() error { _, err := w.AppendEach(ended, "event"); return err },
		"DeleteTo":           func() error { _, err := w.DeleteTo(ended, 1); return err },
		"Purge":              func() error { _, err := w.Purge(ended, dynajournal.PurgeOptions{}); return err },
		"NextSequenceNumber": func() error { _, err := w.NextSequenceNumber(ended); return err },
	} {
		err := call()
		wantError(t, name, err, context.Canceled)
		if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			t.Errorf("%s: the outcome is said to be unknown: %v", name, err)
		}
	}
	if n := requests.requests.Load() - before; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if result, err := w.Append(t.Context(), "event"); err != nil || result.First != 4 {
		t.Errorf("the writer, after calls with a context that had ended: %+v, %v; want 4", result, err)
	}
}

// TestCancelledInTheQueue cancels the context of an append that waits for another append.
func TestCancelledInTheQueue(t *testing.T) {
	t.Parallel()
	aside := openEngine(t).AWSConfig()
	config := dynajournal.Config{AWS: aside}
	createTables(t, config, kinds["native"])
	sent, answer := make(chan struct{}, 1), make(chan struct{})
	config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if operation(r) == "PutItem" {
			sent <- struct{}{}
			<-answer
		}
		return send(r)
	})
	w := recovered(t, openJournal(t, config), "a")
	outcome := make(chan error)
	go func() { _, err := w.Append(t.Context(), "first"); outcome <- err }()
	<-sent
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := w.Append(ctx, "queued"); outcome <- err }()
	cancel()
	err := <-outcome
	wantError(t, "the queued Append", err, context.Canceled)
	if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		t.Errorf("the queued Append was not sent, but its outcome is said to be unknown")
	}
	close(answer)
	if err := <-outcome; err != nil {
		t.Errorf("the Append under way: %v", err)
	}
	<-drained(sent)
	if result, err := w.Append(t.Context(), "third"); err != nil || result.First != 2 {
		t.Errorf("the writer afterwards: %+v, %v; want 2", result, err)
	}
}

// drained discards a pending signal of a channel. It returns a closed channel.
func drained(signals <-chan struct{}) <-chan struct{} {
	started := make(chan struct{})
	close(started)
	select {
	case <-signals:
	default:
	}
	return started
}

// watched is a context that ends as soon as a caller waits for it.
type watched struct {
	context.Context

	cancel context.CancelFunc
}

// Done ends the context.
func (w *watched) Done() <-chan struct{} {
	w.cancel()
	return w.Context.Done()
}

// TestCancelledWaitingForAConnection cancels the context of an append that has its turn, but no
// connection yet. Nothing was sent, so nothing is written, and the writer stays usable. No other
// append has the turn, so the append waits only for its connection.
func TestCancelledWaitingForAConnection(t *testing.T) {
	t.Parallel()
	aside := openEngine(t).AWSConfig()
	config := dynajournal.Config{AWS: aside, MaxConnections: 1}
	createTables(t, config, kinds["native"])
	var blocking atomic.Bool
	sent, answer := make(chan struct{}), make(chan struct{})
	config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if blocking.CompareAndSwap(true, false) {
			close(sent)
			<-answer
		}
		return send(r)
	})
	j := openJournal(t, config)
	w := recovered(t, j, "a")
	blocking.Store(true)
	read := make(chan error)
	go func() { _, err := j.Bounds(t.Context(), "b"); read <- err }()
	<-sent
	inner, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := w.Append(&watched{Context: inner, cancel: cancel}, "never sent")
	wantError(t, "Append", err, context.Canceled)
	if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		t.Errorf("nothing was sent, but the outcome is said to be unknown: %v", err)
	}
	close(answer)
	if err := <-read; err != nil {
		t.Errorf("Bounds: %v", err)
	}
	result, err := w.Append(t.Context(), "event")
	if err != nil || result.First != 1 {
		t.Errorf("the writer afterwards: %+v, %v; want 1", result, err)
	}
}
