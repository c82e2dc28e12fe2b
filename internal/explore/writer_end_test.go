package explore_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// An event is written and its high mark is refused: the event exists, so the append must not be
// reported as failed, and the writer must not use its number again.
func TestWrittenEventWhoseHighMarkIsRefusedHasAnUnknownOutcome(t *testing.T) {
	for _, events := range [][]string{{"100"}, {"100", "101", "102"}} {
		inWorld(t, func(w *world) {
			j, other := w.journal("writer"), w.journal("other")
			r := w.recovered(j)
			w.fill(r, 99)
			w.net.Hold("writer")
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
			w.wantStands(other, 100, events...)
			w.append(w.recovered(other), "next")
			w.wantStands(other, 100, append(events, "next")...)
		})
	}
}

// Of an atomic write one member is written and the others are refused. The writer must end: another
// atomic write of as many events would complete the first one with members that it never had.
func TestWriterEndsWithAPartOfAnAtomicWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		j, other := w.journal("writer"), w.journal("other")
		r := w.recovered(j)
		w.net.Hold("writer")
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
		w.wantStands(other, 1)
		w.append(w.recovered(other), "next")
		w.wantStands(other, 1, "next")
	})
}

// A purged persistence id is recovered just before its marks vanish, and grows anew to the very
// number where the writer stands,

// Somebody goes on after a snapshot, and somebody else after a newer one, both behind the same
// highest number. Only one of A deletion has read the low mark and is about to look whether the
// members of the atomic write that it cuts all exist. A recovery of a purged persistence id is
// about to hold the tombstone that it has read. It vanishes, the persistence id is used
