package projection_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(sweepURL); url != "" {
		if err := sweepOnce(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

// bundle is an engine with the tables of a native journal.
type bundle struct {
	*enginetest.Bundle

	table   *dynamodb.Client
	journal *dynajournal.Journal
	// records is locked for reading during each request for records: see blockReads.
	records sync.RWMutex
}

func setup(t testing.TB, options ...embedded.Option) *bundle {
	t.Helper()
	b := &bundle{Bundle: enginetest.Open(t, enginetest.Options{
		Engine: options, Tables: dynajournal.TableOptions{Projections: true},
	})}
	b.table, b.journal = dynamodb.NewFromConfig(b.Engine.AWSConfig()), b.Journal()
	return b
}

// comes waits for a value that a test needs to continue, and returns it.
func comes[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("it never comes: %s", what)
		panic("unreachable")
	}
}

// write appends events, each on its own, and returns the writer.
func (b *bundle) write(pid string, events ...any) *dynajournal.Writer {
	b.Helper()
	w := b.Recover(b.journal, pid)
	b.Append(w, events...)
	return w
}

// recorder is a handler that records its calls, as one text each.
type recorder struct {
	mu    sync.Mutex
	calls map[string][]string
	// on, if set, is called before an event is recorded. Its error becomes the handler's.
	on func(ctx context.Context, e dynajournal.Event) error
}

func (r *recorder) note(pid, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string][]string{}
	}
	r.calls[pid] = append(r.calls[pid], text)
}

func (r *recorder) of(pid string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls[pid])
}

func (r *recorder) Handle(ctx context.Context, e dynajournal.Event) error {
	if r.on != nil {
		if err := r.on(ctx, e); err != nil {
			return err
		}
	}
	payload, err := e.Payload(ctx)
	if err != nil {
		return err
	}
	r.note(e.PersistenceID, fmt.Sprintf("%d %v", e.SequenceNumber, payload))
	return nil
}

func (r *recorder) HandleGap(_ context.Context, g projection.Gap) error {
	r.note(g.PersistenceID, fmt.Sprintf("gap %d-%d", g.First, g.Last))
	return nil
}

func (r *recorder) HandlePurge(_ context.Context, p projection.Purge) error {
	text := fmt.Sprintf("purge at %d", p.Offset)
	if p.Last > 0 {
		text += fmt.Sprintf(" up to %d", p.Last)
	}
	r.note(p.PersistenceID, text)
	return nil
}

// fast returns a configuration with short pauses, whose source does nothing before the test ends.
func fast() projection.Config {
	return projection.Config{
		Name: "group", Source: projection.Sweep(projection.SweepOptions{Every: time.Hour, PerSecond: -1}),
		RetryShortest: time.Millisecond, RetryLongest: 5 * time.Millisecond, StuckAfter: -1,
	}
}

// group makes a group of a journal.
func group(t testing.TB, j *dynajournal.Journal, config projection.Config, projections ...projection.Projection) *projection.Group {
	t.Helper()
	g, err := projection.New(j, config, projections...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// start runs a group until stop is called or the test ends.
func start(t testing.TB, g *projection.Group) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- g.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := comes(t, "the end of the group", over); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// patience is how long a test waits for an expected event, even on a busy machine. Without a
// safeguard the test is expected to fail, so it waits less.
var patience = func() time.Duration {
	if os.Getenv("DYNAJOURNAL_WITHOUT") != "" {
		return 10 * time.Second
	}
	return time.Minute
}()

// await waits until a projection has handled events up to a number.
func (b *bundle) await(name, pid string, seq int64) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := projection.WaitFor(ctx, b.journal, name, pid, seq); err != nil {
		b.Fatal(err)
	}
}

// until waits until a condition holds.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never happens: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
