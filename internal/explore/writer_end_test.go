package explore_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// An event is written, but its high mark is refused: the event exists, so the append must not be
// reported as failed, and the writer must not use the event's number again.
func TestWrittenEventWhoseHighMarkIsRefusedHasAnUnknownOutcome(t *testing.T) {
	for _, events := range [][]string{{"100"}, {"100", "101", "102"}} {
		inWorld(t, func(w *world) {
			j, other := w.journal("writer"), w.journal("other")
			r := w.recovered(j)
			w.fill(r, 99)
			w.net.Block("writer")
			wait := w.appending(r, events...)
			mark := w.await("writer", "PutItem mark 100")
			for _, put := range w.net.Pending() {
				if put != mark {
					w.net.Deliver(put)
				}
			}
			w.net.Refuse(mark, http.StatusBadRequest, "AccessDeniedException")
			w.net.Free("writer")
			if err := wait(); !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				w.Errorf("got %v, want %v", err, dynajournal.ErrOutcomeUnknown)
			}
			if err := appendTo(w.Context(), r, "other"); !errors.Is(err, dynajournal.ErrWriterEnded) {
				w.Errorf("the next append: got %v, want %v", err, dynajournal.ErrWriterEnded)
			}
			w.wantVisible(other, 100, events...)
			w.append(w.recovered(other), "next")
			w.wantVisible(other, 100, append(events, "next")...)
		})
	}
}

// One member of an atomic write is stored and the others are refused. The writer must end: another
// atomic write of as many events would complete the first one with members that it never had.
func TestWriterEndsWithAPartOfAnAtomicWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		j, other := w.journal("writer"), w.journal("other")
		r := w.recovered(j)
		w.net.Block("writer")
		wait := w.appending(r, "first a", "first b", "first c")
		written := w.await("writer", "PutItem event "+key("0/1"))
		for _, put := range w.net.Pending() {
			if put != written {
				w.net.Refuse(put, http.StatusBadRequest, "AccessDeniedException")
			}
		}
		w.net.Deliver(written)
		w.net.Free("writer")
		if err := wait(); err == nil || errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			w.Errorf("an atomic write of which two members were refused: %v", err)
		}
		if err := appendTo(w.Context(), r, "second a", "second b", "second c"); !errors.Is(err, dynajournal.ErrWriterEnded) {
			w.Errorf("the next append: got %v, want %v", err, dynajournal.ErrWriterEnded)
		}
		w.wantVisible(other, 1)
		w.append(w.recovered(other), "next")
		w.wantVisible(other, 1, "next")
	})
}
