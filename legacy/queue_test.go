package legacy_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// gated is an HTTP client whose puts wait until a gate opens.
type gated struct {
	inner interface {
		Do(r *http.Request) (*http.Response, error)
	}
	gate chan struct{}
}

// Do sends a request.
func (g *gated) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
		<-g.gate
	}
	return g.inner.Do(r)
}

// A caller whose context ends leaves its write to the journal, and the writer has ended. Calls that
// wait for their turn return at once.
func TestCallsQueuedOnAnEndedWriterDoNotWaitForItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, legacy.HashKey)
		g := &gated{b.config.Journal.AWS.HTTPClient, make(chan struct{})}
		b.config.Journal.AWS.HTTPClient = g
		w := b.recovered(b.open(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		first, queued := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := w.Append(ctx, []byte("event"))
			first <- err
		}()
		synctest.Wait()
		go func() {
			_, err := w.Append(t.Context(), []byte("queued"))
			queued <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			t.Errorf("Append: %v, want an unknown outcome", err)
		}
		synctest.Wait()
		select {
		case err := <-queued:
			if !errors.Is(err, dynajournal.ErrWriterEnded) {
				t.Errorf("the queued call: %v, want ErrWriterEnded", err)
			}
		default:
			t.Error("the queued call waits for the write")
		}
		close(g.gate)
	})
}
