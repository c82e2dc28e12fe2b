package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// hotKeyWriter is the environment variable with the name of the file to which TestHotKeys writes
// its figures. Without it, the test compares the figures for few entities with the figures in the
// repository.
const hotKeyWriter = "DYNAJOURNAL_BENCH_HOTKEYS"

// The load: entities that write one event after the other, as fast as responses arrive. An event
// uses 20 of the 1,000 write units per second that a partition key allows. A response takes
// answerTime, so an entity that needs one request for an event attempts 200 events, which are 4,000
// units, per second.
const (
	hotKeyEvent = 20_000
	answerTime  = 2 * time.Millisecond
	// eventsEach and foundedEach are the number of events of each caller. The first quarter of all
	// events uses the burst capacity of the keys, and in the last quarter some callers are done
	// before others. The events in between are measured. For a busy entity of the current layout
	// they fill two partitions.
	eventsEach, foundedEach = 400, 100
)

// late delays every request by answerTime, in a bubble's clock.
type late struct{ inner aws.HTTPClient }

// Do sends a request.
func (l late) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(answerTime) // the latency of a remote service, in the bubble's clock
	return l.inner.Do(r)
}

// hotKeyCaller prepares a caller, and returns the function that writes its next event.
type hotKeyCaller func(ctx context.Context, j store, caller int) (write func(context.Context) error, err error)

// throttledRate returns the events per second on an engine that allows 1,000 write units per second
// for a partition key, with the given number of callers and of events of each caller.
func throttledRate(t *testing.T, l *storage, callers, each int, start hotKeyCaller) float64 {
	t.Helper()
	var rate float64
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory(embedded.WithThroughput(), embedded.WithSweepInterval(0))
		if err != nil {
			t.Fatal(err)
		}
		config := dynajournal.Config{AWS: engine.AWSConfig(), JournalTable: "journal"}
		config.AWS.HTTPClient = late{config.AWS.HTTPClient}
		// So that no caller waits for a connection.
		config.MaxConnections = 4 * mostHotKeys
		config.Retries, config.OperationTimeout = 1000, time.Hour // and never gives up
		// The units of an event are available again after this time.
		config.BackoffBase = 20 * time.Millisecond
		if err := l.create(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		j, err := l.open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		var all errgroup.Group
		// All callers recover before the measurement starts.
		writes := make([]func(context.Context) error, callers)
		for i := range callers {
			all.Go(func() (err error) {
				writes[i], err = start(t.Context(), j, i)
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var done []time.Time // in order
		for _, write := range writes {
			all.Go(func() error {
				for range each {
					if err := write(t.Context()); err != nil {
						return err
					}
					mu.Lock()
					done = append(done, time.Now())
					mu.Unlock()
				}
				return nil
			})
		}
		if err := errors.Join(all.Wait(), j.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
		if !t.Failed() {
			quarter := len(done) / 4
			rate = float64(2*quarter) / done[3*quarter-1].Sub(done[quarter-1]).Seconds()
		}
	})
	return rate
}

// busy is a caller that writes large events of one entity.
func busy(ctx context.Context, j store, caller int) (func(context.Context) error, error) {
	event := bytes.Repeat([]byte{0xa5}, hotKeyEvent)
	e, _, err := j.recover(ctx, fmt.Sprintf("entity-%d", caller))
	return func(ctx context.Context) error {
		_, err := e.Append(ctx, event)
		return err
	}, err
}

// founder is a caller that writes the first, small event of one new entity after the other.
func founder(_ context.Context, j store, caller int) (func(context.Context) error, error) {
	founded := 0
	return func(ctx context.Context) error {
		founded++
		e, _, err := j.recover(ctx, fmt.Sprintf("entity-%d-%d", caller, founded))
		if err == nil {
			_, err = e.Append(ctx, payload)
		}
		return err
	}, nil
}

// mostHotKeys is the largest number of entities that write at once.
const mostHotKeys = 64

// hotKeyLayouts returns the layouts that differ in the events that share a key. hash-key-unprefixed
// and naive-processor differ only in names.
func hotKeyLayouts() []storage {
	return slices.DeleteFunc(storages(),
		func(l storage) bool { return l.name == "hash-key-unprefixed" || l.name == "naive-processor" })
}

// hotKeyFigures measures with the given numbers of busy entities. With founders it also measures
// new entities, in the layouts in which the recovery of a new entity does not read a thousand
// marks, which would dominate the figure.
func hotKeyFigures(t *testing.T, entities []int, founders bool) []Figure {
	t.Helper()
	var figures []Figure
	measure := func(name string, layouts []storage, callers, each int, start hotKeyCaller) {
		base := 0.0
		for i, l := range layouts {
			value := throttledRate(t, &l, callers, each, start)
			if i == 0 {
				base = value
			}
			f := Figure{Name: fmt.Sprintf("hot-key/%s/%s", l.name, name), Value: value, Unit: perSecond, Base: base,
				Ratio: value / base}
			t.Logf("%s: %.1f", f.Name, f.Value)
			figures = append(figures, f)
		}
	}
	if founders {
		light := slices.DeleteFunc(hotKeyLayouts(),
			func(l storage) bool { return strings.HasPrefix(l.name, "hash-key") })
		measure("new", light, mostHotKeys, foundedEach, founder)
	}
	for _, n := range entities {
		measure(fmt.Sprint(n), hotKeyLayouts(), n, eventsEach, busy)
	}
	return figures
}

// hotKeyFile has the figures in the repository.
const hotKeyFile = "figures/hot-key.jsonl"

// TestHotKeys measures the effect of a shared partition key. In the naive layout all events of an
// entity share a key, so a busy entity gets the 50 events per second that 1,000 units allow. In the
// current layout a hundred events share a key, and each further key has the burst capacity of a
// second, which doubles the rate. In the hash-key layouts every event has its own key, and an
// entity writes as fast as responses arrive, two for each event. Entities never share a key, so
// each of many entities has the same rate. The figures in docs/formats.md are measured again,
// within the variation that the random pauses of the retries cause.
func TestHotKeys(t *testing.T) {
	if file := os.Getenv(hotKeyWriter); file != "" {
		writeFigures(t, file, hotKeyFigures(t, []int{1, 2, 4, 8, 16, 32, mostHotKeys}, true))
		return
	}
	if testing.Short() {
		t.Skip("skipped: it writes some thousand large events")
	}
	testsize.NeedsLong(t, "it fills the capacity of partitions")
	stored := readFigures(t, hotKeyFile)
	const apart = 0.15 // the rates to distinguish differ by factors of two
	near := func(got, want float64) bool { return got > want*(1-apart) && got < want*(1+apart) }
	const few = 2
	for _, f := range hotKeyFigures(t, []int{1, few}, false) {
		i := slices.IndexFunc(stored, func(k Figure) bool { return k.Name == f.Name })
		if i < 0 || !near(f.Value, stored[i].Value) {
			t.Errorf("%s is %.1f, which %s does not say", f.Name, f.Value, hotKeyFile)
		}
		want := map[string]float64{"native": 100, "shared": 100, "pay": 100, "hash-key": 250,
			"naive": 50}[strings.Split(f.Name, "/")[1]]
		if strings.HasSuffix(f.Name, fmt.Sprint("/", few)) {
			want *= few
		}
		if !near(f.Value, want) {
			t.Errorf("%s is %.1f events a second, want about %.0f", f.Name, f.Value, want)
		}
	}
}

func writeFigures(t *testing.T, path string, figures []Figure) {
	t.Helper()
	var lines bytes.Buffer
	for _, f := range figures {
		if err := json.NewEncoder(&lines).Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFigures(t *testing.T, path string) []Figure {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var figures []Figure
	for line := range bytes.Lines(data) {
		var f Figure
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		figures = append(figures, f)
	}
	return figures
}
