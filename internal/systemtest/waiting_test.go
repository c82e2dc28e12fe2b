package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// slowly opens a journal in a test's bubble. Its service calls each for every request with items to
// write.
func slowly(t *testing.T, each func(r *http.Request), change func(*dynajournal.Config)) *dynajournal.Journal {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, kinds["native"])
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		each(r)
		return send(r)
	})
	change(&config)
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// Every hundredth event needs a high mark. The timeout of its request does not run while the
// request waits for a connection.
func TestCrowdAtTheHundredthEventWaitsAndSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers = 80
		slow := false
		j := slowly(t, func(r *http.Request) {
			if slow && operation(r) == "PutItem" {
				time.Sleep(time.Second)
			}
		}, func(c *dynajournal.Config) { c.MaxConnections = 2 })
		many := make([]any, 99)
		for i := range many {
			many[i] = "event"
		}
		all := make([]*dynajournal.Writer, writers)
		for i := range all {
			all[i] = recovered(t, j, fmt.Sprint("id-", i))
			if _, err := all[i].Append(t.Context(), many...); err != nil {
				t.Fatal(err)
			}
		}
		slow = true
		var done sync.WaitGroup
		for _, w := range all {
			done.Go(func() {
				if _, err := w.Append(t.Context(), "the hundredth"); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
	})
}

// A caller that cancels leaves its write to the journal, and ends the writer. Calls that wait for
// their turn must fail at once.
func TestCallsQueuedOnAnEndedWriterDoNotWaitForItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		j := slowly(t, func(r *http.Request) {
			if operation(r) == "PutItem" {
				<-gate
			}
		}, func(*dynajournal.Config) {})
		w := recovered(t, j, "a")
		ctx, cancel := context.WithCancel(t.Context())
		first, queued := make(chan error, 1), make(chan error, 2)
		go func() {
			_, err := w.Append(ctx, "event")
			first <- err
		}()
		synctest.Wait()
		go func() {
			_, err := w.Append(t.Context(), "queued")
			queued <- err
		}()
		go func() {
			_, err := w.NextSequenceNumber(t.Context())
			queued <- err
		}()
		synctest.Wait()
		cancel()
		wantError(t, "Append", <-first, dynajournal.ErrOutcomeUnknown)
		synctest.Wait()
		for range 2 {
			select {
			case err := <-queued:
				wantError(t, "a queued call", err, dynajournal.ErrWriterEnded)
			default:
				t.Error("a queued call waits for the write")
			}
		}
		close(gate)
	})
}

func TestFenceWindow_FromHeader(t *testing.T) {
	t.Parallel()
	for _, options := range kinds {
		engine := openEngine(t)
		config := dynajournal.Config{AWS: engine.AWSConfig(), FenceWindow: 2 * time.Hour, SequenceShards: 1}
		createTables(t, config, options)
		for _, c := range []struct {
			window time.Duration
			want   error
		}{{0, nil}, {2 * time.Hour, nil}, {time.Hour, dynajournal.ErrHeaderMismatch}, {24 * time.Hour, dynajournal.ErrHeaderMismatch}} {
			config.FenceWindow = c.window
			if err := openAndClose(t, config); !errors.Is(err, c.want) {
				t.Errorf("a window of %v: error %v, want %v", c.window, err, c.want)
			}
		}
		config.FenceWindow = 3 * time.Hour
		wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, options), dynajournal.ErrHeaderMismatch)
	}
}

// A header of an earlier version has no fence window, which means a day.
func TestHeaderWithoutAFenceWindowMeansADay(t *testing.T) {
	t.Parallel()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, kinds["native"])
	for window, want := range map[time.Duration]error{0: nil, 24 * time.Hour: nil, 2 * time.Hour: dynajournal.ErrHeaderMismatch} {
		config.FenceWindow = window
		if err := openAndClose(t, config); !errors.Is(err, want) {
			t.Errorf("a window of %v: error %v, want %v", window, err, want)
		}
	}
}
