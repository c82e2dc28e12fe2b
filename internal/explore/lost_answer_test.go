package explore_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
)

func TestPutWhoseAnswerWasLostIsAcknowledgedOnce(t *testing.T) {
	for name, events := range map[string][]string{
		"alone":                       {"1"},
		"in a batch":                  {"1", "2", "3"},
		"in a batch of many requests": make([]string, 60),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				j, reader := w.journal("writer"), w.journal("reader")
				for i := range events {
					events[i] = fmt.Sprint("event ", i+1)
				}
				r := w.recovered(j)
				w.net.Block("writer")
				wait := w.appending(r, events...)
				synctest.Wait()
				for _, put := range w.net.Pending() {
					w.net.LoseAnswer(put)
				}
				endPauses()
				w.net.Free("writer")
				if err := wait(); err != nil {
					w.Errorf("append: %v", err)
				}
				w.wantVisible(reader, 1, events...)
				w.append(r, "next")
				w.wantVisible(reader, 1, append(events, "next")...)
			})
		})
	}
}

func TestPutThatWasLostIsSentAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("writer")
		r := w.recovered(j)
		w.net.Block("writer")
		wait := w.appending(r, "1", "2")
		w.net.Lose(w.await("writer", "PutItem event "+key("0/2")))
		endPauses()
		w.net.Free("writer")
		if err := wait(); err != nil {
			w.Errorf("append: %v", err)
		}
		w.wantVisible(j, 1, "1", "2")
	})
}

// The first attempt is delayed, and the second succeeds. The first must do nothing when it arrives,
// even if the event was deleted in between.
func TestLatePut_AfterRetrySucceeded(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("writer")
		r := w.recovered(j)
		w.net.Block("writer")
		wait := w.appending(r, "1")
		late := w.await("writer", "PutItem event")
		w.net.Delay(late)
		endPauses()
		w.net.Free("writer")
		if err := wait(); err != nil {
			w.Fatal(err)
		}
		w.append(r, "2")
		if _, err := r.DeleteTo(w.Context(), 1); err != nil {
			w.Fatal(err)
		}
		if status, _ := w.net.Deliver(late); status == http.StatusOK {
			w.Error("the put succeeded at the number of a deleted event")
		}
		w.wantVisible(j, 1, "2")
	})
}

// A writer that gets no response does not know the outcome, and must end.
func TestUnknownOutcomeEndsTheWriterAndIsKnownAfterRecovery(t *testing.T) {
	inWorld(t, func(w *world) {
		j, other := w.journal("writer"), w.journal("other")
		r := w.recovered(j)
		w.net.Block("writer")
		wait := w.appending(r, "1")
		w.net.LoseAnswer(w.await("writer", "PutItem event"))
		w.net.Crash("writer")
		if err := wait(); !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			w.Errorf("got %v, want %v", err, dynajournal.ErrOutcomeUnknown)
		}
		w.net.Restart("writer")
		w.net.Free("writer")
		if err := appendTo(w.Context(), r, "2"); !errors.Is(err, dynajournal.ErrWriterEnded) {
			w.Errorf("got %v, want %v", err, dynajournal.ErrWriterEnded)
		}
		w.wantVisible(other, 1, "1")
		w.append(w.recovered(j), "2")
		w.wantVisible(other, 1, "1", "2")
	})
}

// Throttling for ten seconds must not lose, duplicate or reorder anything: the writer stays usable.
func TestThrottling_TenSeconds(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("writer")
		r := w.recovered(j)
		w.net.Block("writer")
		until := time.Now().Add(10 * time.Second)
		wait := do(func() (int, error) {
			for failed := 0; ; failed++ {
				if err := appendTo(w.Context(), r, "1", "2"); !errors.Is(err, dynajournal.ErrThrottled) {
					return failed, err
				}
				time.Sleep(time.Second) // in the bubble, like a throttled caller
			}
		})
		for time.Now().Before(until) {
			synctest.Wait()
			for _, put := range w.net.Pending() {
				w.net.Refuse(put, http.StatusBadRequest, "ProvisionedThroughputExceededException")
			}
			time.Sleep(100 * time.Millisecond) // in the bubble, for further attempts
		}
		w.net.Free("writer")
		failed, err := wait()
		if err != nil || failed == 0 {
			w.Errorf("after %d appends that were throttled: %v", failed, err)
		}
		w.wantVisible(j, 1, "1", "2")
	})
}

// The first attempt of a put is applied, and its response lost. Before the second attempt the event
// is read and deleted, which the second attempt can't see. The writer must not report that the
// event was never stored, especially if other members of its atomic write are still stored.
func TestLostAnswer_EventDeletedBeforeRetry(t *testing.T) {
	for name, events := range map[string][]string{"alone": {"1"}, "in a batch": {"1", "2", "3"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				j, other := w.journal("writer"), w.journal("other")
				r := w.recovered(j)
				w.net.Block("writer")
				wait := w.appending(r, events...)
				w.await("writer", "PutItem event "+key("0/1"))
				for _, put := range w.net.Pending() {
					if put.Label == "PutItem event "+key("0/1") {
						w.net.LoseAnswer(put)
					} else {
						w.net.Deliver(put)
					}
				}
				if _, err := w.recovered(other).DeleteTo(w.Context(), 1); err != nil {
					w.Fatal(err)
				}
				w.wantVisible(other, 1, events[1:]...)
				endPauses()
				w.net.Free("writer")
				if err := wait(); !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
					w.Errorf("got %v, want %v", err, dynajournal.ErrOutcomeUnknown)
				}
				w.wantVisible(other, 1, events[1:]...)
			})
		})
	}
}
