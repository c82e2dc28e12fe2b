package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// narrow is a journal with few connections, whose requests the test can block.
type narrow struct {
	*dynajournal.Journal

	mu sync.Mutex
	// blocked is closed when requests may continue. It is nil while requests are not blocked.
	blocked chan struct{}
	// fails makes all requests fail.
	fails bool
	// asked has the persistence ids of the requests, in order and without repetitions.
	asked []string
}

// openNarrow opens a narrow journal, with five events of each of the ids a, b and c.
func openNarrow(t *testing.T, connections int) *narrow {
	t.Helper()
	aside := openEngine(t, embedded.WithSweepInterval(0)).AWSConfig()
	config := dynajournal.Config{AWS: aside}
	createTables(t, config, kinds["native"])
	wide, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []string{"a", "b", "c"} {
		written(t, wide, pid, 5)
	}
	if err := wide.Close(); err != nil {
		t.Fatal(err)
	}
	n := &narrow{}
	config.MaxConnections = connections
	config.AWS.HTTPClient = through(aside.HTTPClient, n.send)
	n.Journal = openJournal(t, config)
	return n
}

func (n *narrow) send(r *http.Request, send sender) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.mu.Lock()
	blocked, fails := n.blocked, n.fails
	for _, pid := range []string{"a", "b", "c"} {
		if strings.Contains(string(body), "-"+pid+"-") && !slices.Contains(n.asked, pid) {
			n.asked = append(n.asked, pid)
		}
	}
	n.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	if fails {
		return answerOf(r, http.StatusBadRequest, `{"__type":"AccessDeniedException"}`), nil
	}
	return send(r)
}

// block blocks requests until release is called, even if their contexts end.
func (n *narrow) block() (release func()) {
	blocked := make(chan struct{})
	n.mu.Lock()
	n.blocked, n.asked = blocked, nil
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		n.blocked = nil
		n.mu.Unlock()
		close(blocked)
	}
}

// patient returns a context that ends after an hour. In the bubble the hour passes at once if all
// calls wait for each other.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// next maps an entity to the entity that its handler recovers.
var next = map[string]string{"a": "b", "b": "c"}

// nested recovers an entity whose handler, at each event, recovers the next entity and reads it in
// every way.
func (n *narrow) nested(ctx context.Context, pid string) error {
	_, err := n.Recover(ctx, pid, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		inner, more := next[e.PersistenceID]
		if !more {
			return nil
		}
		if _, err := n.Bounds(ctx, inner); err != nil {
			return err
		}
		if _, _, err := n.LoadSnapshot(ctx, inner, dynajournal.SnapshotCriteria{}); err != nil {
			return err
		}
		for _, err := range n.Records(ctx, inner, dynajournal.RecordsOptions{}) {
			if err != nil {
				return err
			}
			for _, err := range n.Events(ctx, inner, dynajournal.Range{}) {
				if err != nil {
					return err
				}
			}
		}
		return n.nested(ctx, inner)
	})
	return err
}

// A handler may recover other entities, for any number of concurrent recoveries and any limit: a
// recovery that waits for others does not occupy an admission that they wait for.
func TestAdmission_HandlersThatRecoverOthers(t *testing.T) {
	for _, connections := range []int{1, 2} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, ctx := openNarrow(t, connections), patient(t)
				var all errgroup.Group
				for range 5 * connections {
					all.Go(func() error { return n.nested(ctx, "a") })
				}
				if err := all.Wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Consumers of iterators do not occupy admissions either: while all of them are in the middle of
// their events, another one reads all its events.
func TestAdmission_ReleasedWhileConsumersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ctx := openNarrow(t, 1), patient(t)
		for range 3 {
			next, stop := iter.Pull2(n.Events(ctx, "a", dynajournal.Range{}))
			defer stop()
			if e, err, ok := next(); err != nil || !ok || e.SequenceNumber != 1 {
				t.Fatalf("the first event is %d, %v, %v", e.SequenceNumber, err, ok)
			}
		}
		if err := readError(ctx, n.Journal, "b", dynajournal.Range{}); err != nil {
			t.Error(err)
		}
	})
}

// Recoveries start in the order in which they were called.
func TestAdmission_FirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := openNarrow(t, 1)
		release := n.block()
		var all sync.WaitGroup
		for _, pid := range []string{"c", "a", "b"} {
			all.Go(func() { recovered(t, n.Journal, pid) })
			synctest.Wait() // it waits in the queue
		}
		if !slices.Equal(n.asked, []string{"c"}) {
			t.Errorf("requests for %q, want only those of the one that there is room for", n.asked)
		}
		release()
		all.Wait()
		if !slices.Equal(n.asked, []string{"c", "a", "b"}) {
			t.Errorf("they began in the order %q", n.asked)
		}
	})
}

// readers are all calls that wait for an admission.
var readers = map[string]func(ctx context.Context, j *dynajournal.Journal) error{
	"Recover": func(ctx context.Context, j *dynajournal.Journal) error {
		_, err := j.Recover(ctx, "b", dynajournal.RecoverOptions{}, noHandler)
		return err
	},
	"Events": func(ctx context.Context, j *dynajournal.Journal) error {
		return readError(ctx, j, "b", dynajournal.Range{})
	},
	"Records": func(ctx context.Context, j *dynajournal.Journal) error {
		for _, err := range j.Records(ctx, "b", dynajournal.RecordsOptions{}) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Bounds": func(ctx context.Context, j *dynajournal.Journal) error {
		_, err := j.Bounds(ctx, "b")
		return err
	},
	"LoadSnapshot": func(ctx context.Context, j *dynajournal.Journal) error {
		_, _, err := j.LoadSnapshot(ctx, "b", dynajournal.SnapshotCriteria{})
		return err
	},
}

// Only the context and the closing of the journal end the wait for an admission: operation timeouts
// do not run. A call that ends there has sent nothing, returns the reason, and does not take an
// admission.
func TestAdmission_EndedWhileWaiting(t *testing.T) {
	reason := errors.New("the reason")
	for name, read := range readers {
		for ending, want := range map[string]error{"cancelled": reason, "late": context.DeadlineExceeded, "closed": dynajournal.ErrClosed, "not": nil} {
			t.Run(name+", "+ending, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := openNarrow(t, 1)
					release := n.block()
					var all sync.WaitGroup
					all.Go(func() { _, _ = n.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil) })
					synctest.Wait()
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					if ending == "late" {
						var stop func()
						ctx, stop = context.WithTimeout(ctx, 2*dynajournal.DefaultOperationTimeout)
						defer stop()
					}
					all.Go(func() { wantError(t, name, read(ctx, n.Journal), want) })
					synctest.Wait()
					switch ending {
					case "cancelled":
						cancel(reason)
					case "closed":
						all.Go(func() { _ = n.Close() })
					default:
						time.Sleep(2 * dynajournal.DefaultOperationTimeout)
					}
					synctest.Wait()
					if slices.Contains(n.asked, "b") {
						t.Errorf("a request was sent for what had no room")
					}
					release()
					all.Wait()
					if ending != "closed" {
						recovered(t, n.Journal, "c")
					}
				})
			})
		}
	}
}

// A call that fails returns its admission: at its first request, in the caller's code, and in the
// middle.
func TestAdmission_ReturnedAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ctx := openNarrow(t, 1), patient(t)
		for range 2 {
			for name, read := range readers {
				n.fails = true
				wantError(t, name, read(ctx, n.Journal), dynajournal.ErrDenied)
				n.fails = false
				if err := read(ctx, n.Journal); err != nil {
					t.Errorf("%s after it had failed: %v", name, err)
				}
			}
			failed := errors.New("the handler fails")
			_, err := n.Recover(ctx, "a", dynajournal.RecoverOptions{}, func(dynajournal.Event) error { return failed })
			wantError(t, "Recover with a handler that fails", err, failed)
		}
	})
}
