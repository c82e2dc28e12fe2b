package systemtest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/dynajournal/dynajournal"
)

func TestErrOfAWriterIsWhyItHasEnded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	j := s.journal()

	conflicting := s.writer(j, "conflict", 0)
	s.writer(j, "conflict", 1)
	unknown := s.writer(j, "unknown", 1)
	purged := s.writer(j, "purged", 1)
	alive := s.writer(j, "alive", 1)
	for _, w := range []*dynajournal.Writer{conflicting, unknown, purged, alive} {
		if err := w.Err(); err != nil {
			t.Errorf("%s: a writer that has not ended reports %v", w.PersistenceID(), err)
		}
	}

	if _, err := conflicting.Append(t.Context(), "late"); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("error %v", err)
	}
	lost := lose(true)
	s.wire.fault.Store(&lost)
	if _, err := unknown.Append(t.Context(), "lost"); !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
	}
	s.wire.fault.Store(nil)
	if _, err := purged.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := alive.Append(t.Context(), struct{}{}); !errors.Is(err, dynajournal.ErrRejected) {
		t.Errorf("error %v", err)
	}

	conflict, outcome := new(dynajournal.ConflictError), new(dynajournal.OutcomeUnknownError)
	if err := conflicting.Err(); !errors.Is(err, dynajournal.ErrWriterConflict) || !errors.As(err, &conflict) {
		t.Errorf("after a conflict: %v", err)
	}
	if err := unknown.Err(); !errors.Is(err, dynajournal.ErrOutcomeUnknown) || !errors.As(err, &outcome) || !dynajournal.MaybeApplied(err) {
		t.Errorf("after an unknown outcome: %v", err)
	}
	if err := purged.Err(); err == nil {
		t.Error("after a purge: no error")
	}
	if err := alive.Err(); err != nil {
		t.Errorf("after a rejected event: %v", err)
	}
	for _, w := range []*dynajournal.Writer{conflicting, unknown, purged} {
		if _, err := w.Append(t.Context(), "more"); !errors.Is(err, dynajournal.ErrWriterEnded) || !errors.Is(err, inner(w.Err())) {
			t.Errorf("%s: a call on a writer that has ended returns %v, want ErrWriterEnded and %v", w.PersistenceID(), err, w.Err())
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := alive.Err(); !errors.Is(err, dynajournal.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := conflicting.Err(); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("after Close of the journal of a writer that had ended: %v", err)
	}
}

// inner returns the sentinel that an error wraps, otherwise the error itself.
func inner(err error) error {
	for _, sentinel := range []error{dynajournal.ErrWriterConflict, dynajournal.ErrOutcomeUnknown} {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

func TestErrDoesNotWaitForAnAppendInFlight(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	w := s.writer(s.journal(), "a", 1)
	sent, answered := make(chan struct{}), make(chan struct{})
	var waits writeFault = func(_ int64, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
		close(sent)
		<-answered
		return forward()
	}
	s.wire.fault.Store(&waits)
	appended := make(chan error)
	go func() {
		_, err := w.Append(t.Context(), "new")
		appended <- err
	}()
	<-sent
	if err := w.Err(); err != nil {
		t.Errorf("a writer that waits for a response reports %v", err)
	}
	close(answered)
	if err := <-appended; err != nil {
		t.Error(err)
	}
}
