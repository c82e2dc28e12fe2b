package process_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/process"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/serialization"
)

// Asked is an event of a source. It asks each box in Of to do What.
type Asked struct {
	What string
	Of   []string
}

// Done is the event of a box. Box is its state.
type (
	Done struct{ What string }
	Box  struct{ Done []string }
)

var boxType = entity.Type[Box, Done]{
	Name: "box",
	Evolve: func(b Box, e Done) Box {
		return Box{append(slices.Clone(b.Done), e.What)}
	},
}

type boxes = entity.Entities[Box, Done]

// bundle is a journal in memory, with the projections table.
type bundle struct {
	*entitytest.Journal
	testing.TB
}

func setup(t testing.TB, change ...func(*dynajournal.Config)) *bundle {
	t.Helper()
	r := serialization.NewRegistry()
	if err := errors.Join(serialization.JSON[Asked](r, "asked"), serialization.JSON[Done](r, "done")); err != nil {
		t.Fatal(err)
	}
	j := entitytest.OpenJournal(t, r, change...)
	if err := dynajournal.CreateTables(t.Context(), j.Config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	return &bundle{j, t}
}

// open opens the boxes of a process.
func (b *bundle) open(j *dynajournal.Journal, options entity.Options) *boxes {
	b.Helper()
	open, err := entity.Open(j, boxType, options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = open.Close(context.Background()) })
	return open
}

// ask stores an event of a source, and returns its number.
func (b *bundle) ask(source string, asked ...any) int64 {
	b.Helper()
	w, err := b.Recover(b.Context(), source, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	written, err := w.Append(b.Context(), asked...)
	if err != nil {
		b.Fatal(err)
	}
	return written.Last
}

// do returns the command that does something in a box.
func do(to entity.Updater[Box, Done], box, what string) process.Command {
	return process.To(to, box, func(tx *entity.Tx[Box, Done]) error {
		tx.Record(Done{what})
		return nil
	})
}

// asking returns a process that runs a command for each request in an Asked event.
func (b *bundle) asking(to entity.Updater[Box, Done], change ...func(*process.Config)) *process.Process {
	b.Helper()
	config := process.Config{Name: "asking", React: func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
		if strings.HasPrefix(event.PersistenceID, "box|") {
			return nil, nil
		}
		asked, err := dynajournal.Decode[Asked](ctx, event)
		var commands []process.Command
		for _, box := range asked.Of {
			commands = append(commands, do(to, box, asked.What))
		}
		return commands, err
	}}
	for _, f := range change {
		f(&config)
	}
	p, err := process.New(config)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// run runs a handler as group/asking, until stop is called or the test ends.
func (b *bundle) run(j *dynajournal.Journal, h projection.Handler, change ...func(*projection.Config)) (stop func()) {
	b.Helper()
	config := projection.Config{
		Name: "group", RetryShortest: time.Millisecond, RetryLongest: 5 * time.Millisecond,
		ClaimTimeout: 300 * time.Millisecond,
		Source:       projection.Sweep(projection.SweepOptions{Every: 10 * time.Millisecond, PerSecond: -1}),
	}
	for _, f := range change {
		f(&config)
	}
	g, err := projection.New(j, config, projection.AtLeastOnce("asking", h))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// await waits until an event is handled.
func (b *bundle) await(source string, number int64) error {
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	return projection.WaitFor(ctx, b.Journal.Journal, "group/asking", source, number)
}

// want checks the contents of a box.
func (b *bundle) want(in *boxes, box string, want ...string) {
	b.Helper()
	_, err := in.View(b.Context(), box, func(now Box) error {
		if !slices.Equal(now.Done, want) {
			b.Errorf("%s has done %q, want %q", box, now.Done, want)
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}

// mortal is the connection of a process that can be killed at one of its writes.
type mortal struct {
	inner aws.HTTPClient
	// life ends when the process dies.
	life context.Context
	kill context.CancelFunc

	mu sync.Mutex
	// left is the number of writes before the process dies. applied reports whether the last of
	// them is applied.
	left    int
	applied bool
	// faults chooses which requests fail. If it is nil, no request fails.
	faults *rand.Rand
}

var errKilled = errors.New("the process was killed")

// process opens the journal of a process.
func (b *bundle) process() (*dynajournal.Journal, *mortal) {
	b.Helper()
	config := b.Config
	m := &mortal{inner: config.AWS.HTTPClient, left: math.MaxInt}
	m.life, m.kill = context.WithCancel(b.Context())
	b.Cleanup(m.kill)
	config.AWS.HTTPClient = m
	config.Retries = 1
	j, err := dynajournal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	return j, m
}

// dieAfter makes the process die after some writes.
func (m *mortal) dieAfter(writes int, applied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.applied = writes, applied
}

// fate is the outcome of a request.
type fate int

const (
	answered fate = iota
	// lost means that the request does not arrive. unanswered means that it is performed, and the
	// response is lost.
	lost
	unanswered
)

func (m *mortal) fate(operation string) fate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.Err() != nil {
		return lost
	}
	if m.faults != nil {
		switch m.faults.IntN(20) {
		case 0:
			return lost
		case 1:
			return unanswered
		}
	}
	for _, write := range []string{"Put", "Update", "Transact", "BatchWrite"} {
		if !strings.Contains(operation, "."+write) {
			continue
		}
		if m.left--; m.left < 0 {
			m.kill()
			if m.applied {
				return unanswered
			}
			return lost
		}
	}
	return answered
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	what := m.fate(r.Header.Get("X-Amz-Target"))
	if what == lost {
		return nil, errKilled
	}
	response, err := m.inner.Do(r)
	if what == unanswered && err == nil {
		_ = response.Body.Close()
		return nil, errKilled
	}
	return response, err
}
