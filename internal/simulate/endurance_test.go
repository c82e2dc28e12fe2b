package simulate_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/explore"
)

var (
	endurance  = flag.Duration("simulate.endurance", 0, "how long to load many entities, with faults, in real time; 0 is not at all")
	population = flag.Int("simulate.entities", 10_000, "how many entities to load for so long")
	durable    = flag.String("simulate.folder", "", "where the engine keeps its data meanwhile; empty is a temporary folder")
)

const (
	workers = 64
	// processes is the number of journals that write to the same entities.
	processes = 2
	// mostLive is how many events an entity retains, so that the stored data does not grow forever.
	mostLive = 40
	// rows is the number of rows of the table that the test prints.
	rows = 20
)

// subject is an entity under load, and its expected state. One worker uses it at a time.
type subject struct {
	mu     sync.Mutex
	pid    string
	writer *dynajournal.Writer
	count  int
	live   []explore.Event
	// pending has the events of a write with an unknown outcome.
	pending []string
	// deleting has the numbers up to which deletions may have come.
	deleting []int64
}

// load is the state of TestEndurance.
type load struct {
	*testing.T

	journals     []*dynajournal.Journal
	subjects     []*subject
	stop         atomic.Bool
	operations   atomic.Int64
	acknowledged atomic.Int64
	failed       atomic.Int64
}

// fast is the speed of the clocks of the journals and of the engine: a fence window takes a minute.
const fast = 60

// TestEndurance loads many entities with writes, deletions, snapshots, reads and recoveries by two
// processes, while the engine injects all its faults. It prints memory and goroutines as a table. A
// recovery must return all acknowledged events.
func TestEndurance(t *testing.T) {
	if *endurance == 0 {
		t.Skip("it takes long: choose how long by -simulate.endurance")
	}
	if *storageFaults == 0 { // an engine whose storage has failed leaves goroutines
		defer goleak.VerifyNone(t)
	}
	folder := *durable
	if folder == "" {
		folder = t.TempDir()
	}
	var faults []embedded.Fault
	for _, f := range explore.RequestFaults {
		f.Probability, f.Delay = 0.003, min(f.Delay, 300*time.Millisecond)
		faults = append(faults, f)
	}
	start := time.Now()
	elapsed := func() time.Duration { return fast * time.Since(start) }
	wall := func() time.Time { return start.Add(elapsed()).Round(0) }
	service := &restarted{T: t}
	var injected []embedded.Fault
	service.open = func(files vfs.FS) (*embedded.Engine, error) {
		return embedded.Open(folder, embedded.WithFS(files), embedded.WithSweepInterval(10*time.Second), embedded.WithClock(wall),
			embedded.WithFaults(injected...))
	}
	if err := service.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.current().Close() }()
	config := dynajournal.Config{AWS: service.engine.AWSConfig(), FenceWindow: time.Hour, AttemptTimeout: time.Second}
	config.AWS.HTTPClient = service
	core.SetClock(&config, clock.New(wall, elapsed))
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	l := &load{T: t}
	for range processes {
		j, err := dynajournal.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		l.journals = append(l.journals, j)
	}
	for i := range *population {
		l.subjects = append(l.subjects, &subject{pid: pid(i)})
	}
	for _, f := range faults {
		if _, err := service.engine.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	injected = faults
	var all, storage sync.WaitGroup
	stop := make(chan struct{})
	if *storageFaults > 0 {
		storage.Go(func() { service.failAndRestart(stop) })
	}
	for i := range workers {
		all.Go(func() { l.work(rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	counts := l.watch(service, folder)
	close(stop)
	storage.Wait()
	l.stop.Store(true)
	all.Wait()
	for _, s := range l.subjects {
		if s.count > 0 && !t.Failed() {
			l.awaitEnd(s)
		}
	}
	for _, j := range l.journals {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%8d times the storage failed", service.restarts)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%8d %s", counts[name], name)
	}
}

// watch prints the table until the time is over, and counts the injected faults.
func (l *load) watch(service *restarted, folder string) map[string]int {
	injected, last, engine := map[string]int{}, int64(0), service.current()
	fmt.Printf("| %8s | %12s | %12s | %10s | %10s | %10s | %10s |\n", "seconds", "operations", "acknowledged", "failed", "heap MB", "goroutines", "disk MB")
	fmt.Printf("|%s\n", strings.Repeat("---:|", 7))
	start := time.Now()
	tick := time.NewTicker(max(*endurance/rows, time.Second))
	defer tick.Stop()
	counting := time.NewTicker(time.Second)
	defer counting.Stop()
	for time.Since(start) < *endurance && !l.Failed() {
		select {
		case <-counting.C:
			if now := service.current(); now != engine {
				engine, last = now, 0
			}
			for _, i := range engine.Injected() {
				if i.Number > last {
					last = i.Number
					i.Fault.Probability = 0
					injected[i.Fault.String()]++
				}
			}
			continue
		case <-tick.C:
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Printf("| %8.0f | %12d | %12d | %10d | %10.1f | %10d | %10.1f |\n", time.Since(start).Seconds(), l.operations.Load(),
			l.acknowledged.Load(), l.failed.Load(), float64(m.HeapAlloc)/(1<<20), runtime.NumGoroutine(), float64(size(folder))/(1<<20))
	}
	return injected
}

// size returns the size of the files of a folder in bytes.
func size(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed meanwhile
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

func (l *load) work(random *rand.Rand) {
	for !l.stop.Load() && !l.Failed() {
		s := l.subjects[random.IntN(len(l.subjects))]
		if !s.mu.TryLock() {
			continue
		}
		l.operate(s, random)
		s.mu.Unlock()
	}
}

// operate runs a random operation on an entity.
func (l *load) operate(s *subject, random *rand.Rand) {
	ctx := l.Context()
	l.operations.Add(1)
	var err error
	switch dice := random.IntN(100); {
	case s.writer == nil || dice < 3: // the other process may take over
		err = l.recover(ctx, s, l.journals[random.IntN(processes)])
	case dice < 60:
		err = l.append(ctx, s, 1)
	case dice < 75:
		err = l.append(ctx, s, 2+random.IntN(5))
	case dice < 85:
		err = l.read(ctx, s, l.journals[random.IntN(processes)])
	case dice < 90 && len(s.live) > 0:
		last := s.live[len(s.live)-1].Number
		_, err = l.journals[0].SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: s.pid, SequenceNumber: last}, stateOf(s.live))
	case len(s.live) > mostLive:
		err = l.delete(ctx, s)
	}
	if err != nil {
		l.failed.Add(1)
	}
}

func (l *load) append(ctx context.Context, s *subject, n int) error {
	values, texts := make([]any, n), make([]string, n)
	for i := range n {
		s.count++
		texts[i] = fmt.Sprint(s.pid, "/", s.count)
		values[i] = texts[i]
	}
	result, err := s.writer.Append(ctx, values...)
	if err == nil {
		for i, text := range texts {
			s.live = append(s.live, explore.Event{Number: result.First + int64(i), Text: text})
		}
		l.acknowledged.Add(int64(n))
		return nil
	}
	if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		s.pending = texts
	}
	s.writer = nil
	return err
}

func (l *load) delete(ctx context.Context, s *subject) error {
	to := s.live[len(s.live)-mostLive/4].Number
	s.deleting = append(s.deleting, to)
	_, err := s.writer.DeleteTo(ctx, to)
	if err == nil {
		s.forget(to)
	}
	return err
}

// forget drops the events that were deleted, up to a number.
func (s *subject) forget(to int64) {
	s.live = slices.DeleteFunc(s.live, func(e explore.Event) bool { return e.Number <= to })
	s.deleting = slices.DeleteFunc(s.deleting, func(other int64) bool { return other <= to })
}

func (l *load) read(ctx context.Context, s *subject, j *dynajournal.Journal) error {
	var got []explore.Event
	for e, err := range j.Events(ctx, s.pid, dynajournal.Range{}) {
		if err != nil {
			return err
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	l.judge(s, got, "a reader")
	return nil
}

func (l *load) recover(ctx context.Context, s *subject, j *dynajournal.Journal) error {
	s.writer = nil
	var got []explore.Event
	w, err := j.Recover(ctx, s.pid, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
		return nil
	})
	if err != nil {
		return err
	}
	l.judge(s, got, "a recovery")
	s.writer, s.pending = w, nil // events that are not stored now never will be
	return nil
}

// judge compares the events that were read with the acknowledged ones. A write with an unknown
// outcome is stored as a whole or not at all. A deletion that failed may have started.
func (l *load) judge(s *subject, got []explore.Event, who string) {
	for _, to := range slices.Backward(s.deleting) {
		if len(got) == 0 || got[0].Number > to {
			s.forget(to)
			break
		}
	}
	if n := len(got) - len(s.live); n > 0 && n == len(s.pending) {
		for i, e := range got[len(s.live):] {
			if e.Text == s.pending[i] {
				s.live = append(s.live, e)
			}
		}
		s.pending = nil
	}
	if !slices.Equal(got, s.live) {
		l.Errorf("%s of %s was given %v, want %v", who, s.pid, got, s.live)
	}
}

// awaitEnd recovers an entity until a recovery succeeds, which also checks the entity.
func (l *load) awaitEnd(s *subject) {
	const enough = 100
	var err error
	for range enough {
		if err = l.recover(l.Context(), s, l.journals[0]); err == nil {
			return
		}
	}
	l.Errorf("%s can't be recovered: %v", s.pid, err)
}
