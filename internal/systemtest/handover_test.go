package systemtest

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// handover has a writer in Go that has written 3 events, and a JVM that takes over while the
// machine of that writer is paused.
type handover struct {
	*sleeper
	jvm    *jvm.Plugin
	writer *dynajournal.Writer
	// puts is the number of writing requests that the writer's journal has sent.
	puts atomic.Int64
}

func newHandover(t *testing.T) *handover {
	t.Helper()
	h := &handover{}
	h.sleeper = newSleeper(t, kinds["shared"], func(c *dynajournal.Config) {
		c.AWS.HTTPClient = through(c.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
			if op := operation(r); op == "PutItem" || op == "BatchExecuteStatement" {
				h.puts.Add(1)
			}
			return send(r)
		})
	})
	h.jvm = jvm.New(dynamodb.NewFromConfig(h.engine.AWSConfig()), "pekko-persistence", "pekko-persistence-snapshot", "journal", 10)
	h.writer = written(t, h.journal, "a", 3)
	return h
}

// takeOver lets two minutes pass. Then the JVM persists 4 and 5 and deletes everything.
func (h *handover) takeOver() {
	h.Helper()
	h.sleep(2 * time.Minute)
	e, err := h.jvm.Start(h.Context(), "a")
	if err != nil {
		h.Fatal(err)
	}
	if _, err := e.PersistEach(h.Context(), "4", "5"); err != nil {
		h.Fatal(err)
	}
	if err := e.Delete(h.Context(), 5); err != nil {
		h.Fatal(err)
	}
}

// unharmed checks that the JVM continues after 5, and that both sides see the event that it then
// persists.
func (h *handover) unharmed() {
	h.Helper()
	e, err := h.jvm.Start(h.Context(), "a")
	if err != nil || e.Highest != 5 || len(e.Events) != 0 {
		h.Fatalf("the JVM begins with %v after %d, %v; want no event and 5", e.Events, e.Highest, err)
	}
	if _, err := e.PersistEach(h.Context(), "6"); err != nil {
		h.Fatal(err)
	}
	if got := numbersText(numbersOf(readEvents(h.T, h.other, "a", dynajournal.Range{}))); got != "6" {
		h.Errorf("Go shows %s, want 6", got)
	}
}

// A writer was paused while a JVM took over and deleted. Its events below the JVM's low mark must
// not be acknowledged, and must not stay there.
func TestPausedWriterChecksWhetherAJVMHasTakenOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []any
		// operation is the operation at which the writer is paused, and at returns its response.
		// Without an operation, the writer is paused before the append.
		operation string
		at        func(*http.Request, sender) (*http.Response, error)
		want      error
	}{
		"before its append":                   {[]any{"late"}, "", nil, dynajournal.ErrWriterConflict},
		"before its atomic write":             {[]any{"late", "later", "last"}, "", nil, dynajournal.ErrWriterConflict},
		"before a second attempt":             {[]any{"late"}, "PutItem", throttled, dynajournal.ErrWriterConflict},
		"while its put is under way":          {[]any{"late"}, "PutItem", answered, dynajournal.ErrOutcomeUnknown},
		"while its put is lost":               {[]any{"late"}, "PutItem", lost, dynajournal.ErrOutcomeUnknown},
		"while its atomic write is under way": {[]any{"late", "later"}, "BatchExecuteStatement", answered, dynajournal.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHandover(t)
			puts := h.puts.Load()
			if c.at == nil {
				h.takeOver()
			} else {
				h.at(c.operation, func(r *http.Request, send sender) (*http.Response, error) {
					h.takeOver()
					return c.at(r, send)
				})
			}
			_, err := h.writer.Append(t.Context(), c.events...)
			wantError(t, "Append", err, c.want)
			if sent := h.puts.Load() - puts; c.at == nil && sent > 0 {
				t.Errorf("%d requests were sent that write", sent)
			}
			h.unharmed()
		})
	}
}

// A writer whose machine sleeps after its atomic write is stored notices late that the low mark of
// a JVM is above its first event. If another writer in Go has raised the low mark, readers have
// seen the rest.
func TestHandoverCheck_RestOfAtomicWriteCutByGo(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 10} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, dynajournal.TableOptions{SharedWithJVM: true},
				func(c *dynajournal.Config) { c.SequenceShards = shards })
			writer := written(t, s.journal, "a", 97)
			s.at("BatchExecuteStatement", func(r *http.Request, send sender) (*http.Response, error) {
				response, err := send(r)
				s.sleep(2 * time.Minute)
				other, recovered := s.other.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
				if recovered != nil {
					t.Fatal(recovered)
				}
				if _, deleted := other.DeleteTo(t.Context(), 102); deleted != nil {
					t.Fatal(deleted)
				}
				return response, err
			})
			_, err := writer.Append(t.Context(), slices.Repeat([]any{"event"}, 10)...)
			wantError(t, "Append", err, dynajournal.ErrOutcomeUnknown)
			got := numbersText(numbersOf(readEvents(t, s.other, "a", dynajournal.Range{})))
			if want := "103-107"; got != want {
				t.Errorf("the events are %s, want %s", got, want)
			}
		})
	}
}

// An event that a JVM's deletion has left does not prove that no JVM has deleted more since then.
func TestHandoverCheck_EventLeftByDeletion(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	d := &damaged{Journal: h.journal, t: t, table: dynamodb.NewFromConfig(h.engine.AWSConfig())}
	d.lowMark(4, nil) // a JVM has deleted to 3, and died before it removed the events
	h.sleep(2 * time.Minute)
	e, err := h.jvm.Start(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PersistEach(t.Context(), slices.Repeat([]any{"event"}, 250)...); err != nil {
		t.Fatal(err)
	}
	if err := e.Delete(t.Context(), 253); err != nil {
		t.Fatal(err)
	}
	_, err = h.writer.Append(t.Context(), "late")
	wantError(t, "Append", err, dynajournal.ErrWriterConflict)
}

// The check costs a request and 3 units if the writer was idle for longer than Config.HandoverTime,
// and otherwise nothing.
func TestCostOfTheHandoverCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options dynajournal.TableOptions
		idle    time.Duration
		change  func(*dynajournal.Config)
		want    spent
	}{
		"idle":                   {kinds["shared"], 2 * time.Minute, nil, spent{2, 3, 2}},
		"busy":                   {kinds["shared"], 30 * time.Second, nil, spent{1, 0, 2}},
		"idle, no check":         {kinds["shared"], 2 * time.Minute, func(c *dynajournal.Config) { c.HandoverTime = -1 }, spent{1, 0, 2}},
		"idle, a native journal": {kinds["native"], 2 * time.Minute, nil, spent{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := func(*dynajournal.Config) {}
			if c.change != nil {
				change = c.change
			}
			s := newSleeper(t, c.options, change)
			w := written(t, s.journal, "a", 3)
			for range 2 {
				s.elapsed.Add(int64(c.idle))
				s.sleep(c.idle)
				result, err := w.Append(t.Context(), "event")
				if err != nil {
					t.Fatal(err)
				}
				if got := (spent{int64(result.Cost.Requests), result.Cost.ReadUnits, result.Cost.WriteUnits}); got != c.want {
					t.Errorf("an append costs %+v, want %+v", got, c.want)
				}
			}
		})
	}
}
