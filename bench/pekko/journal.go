package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
)

// The kinds of journals that a service can have.
const (
	shared = "shared"
	native = "native"
)

// configOf returns the configuration of a kind of journal. The shared journal uses the tables of
// the plug-in.
func configOf(kind, endpoint string) (dynajournal.Config, dynajournal.TableOptions) {
	c := dynajournal.Config{Endpoint: endpoint, AccessKeyID: "bench", SecretAccessKey: "bench"}
	if kind == native {
		c.JournalTable, c.SnapshotTable = "native", "native-snapshot"
		return c, dynajournal.TableOptions{}
	}
	return c, dynajournal.TableOptions{SharedWithJVM: true}
}

// journalService executes requests with a journal, as the Java program does with the plug-in.
type journalService struct {
	journal *dynajournal.Journal
	payload []byte
}

const (
	eventBytes = 512
	// filling is the number of entities that are filled at the same time.
	filling = 64
)

func serve(ctx context.Context, kind, endpoint string, in io.Reader, out io.Writer) error {
	config, _ := configOf(kind, endpoint)
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer func() { _ = j.Close() }() // nothing is in flight
	s := journalService{journal: j, payload: make([]byte, eventBytes)}
	_, _ = rand.Read(s.payload) // which never fails
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var r request
		var a answer
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			a, err = s.do(ctx, r)
		}
		if err != nil {
			a = answer{Failure: err.Error()}
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	return nil
}

func (s *journalService) do(ctx context.Context, r request) (answer, error) {
	switch r.Op {
	case "fill":
		return answer{}, s.fill(ctx, r)
	case "loadPersist":
		return s.persist(ctx, r)
	case "loadCommands":
		return s.commands(ctx, r)
	case "loadReplay":
		return s.replay(ctx, r)
	case "loadRecover":
		return s.recover(ctx, r)
	case "memory":
		return memory()
	}
	return answer{}, fmt.Errorf("there is no operation %q", r.Op)
}

func (r request) pid(i int) string { return fmt.Sprintf("%s-%d", r.Prefix, i) }

// fill stores events in entities. If r.Snapshots is set, it also stores a snapshot before the last
// five events.
func (s *journalService) fill(ctx context.Context, r request) error {
	const afterSnapshot = 5
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(filling)
	for i := range r.Entities {
		group.Go(func() error {
			w, _, err := s.up(ctx, r.pid(i), false)
			for n := 1; err == nil && n <= r.Events; n++ {
				_, err = w.Append(ctx, s.payload)
				if err == nil && r.Snapshots && n == r.Events-afterSnapshot {
					_, err = s.journal.SaveSnapshot(ctx,
						dynajournal.SnapshotMetadata{PersistenceID: r.pid(i), SequenceNumber: int64(n)}, s.payload)
				}
			}
			return err
		})
	}
	return group.Wait()
}

// up recovers an entity, and returns its writer and the number of replayed events.
func (s *journalService) up(ctx context.Context, pid string, snapshots bool) (*dynajournal.Writer, int, error) {
	var opts dynajournal.RecoverOptions
	if snapshots {
		loaded, found, err := s.journal.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
		if err != nil {
			return nil, 0, fmt.Errorf("load a snapshot: %w", err)
		}
		if found {
			opts.Snapshot = loaded.SequenceNumber
		}
	}
	n := 0
	w, err := s.journal.Recover(ctx, pid, opts, func(dynajournal.Event) error {
		n++
		return nil
	})
	if err != nil {
		return nil, n, fmt.Errorf("recover: %w", err)
	}
	return w, n, nil
}

// persist appends events to all entities concurrently.
func (s *journalService) persist(ctx context.Context, r request) (answer, error) {
	writers := make([]*dynajournal.Writer, r.Entities)
	if err := s.all(ctx, r.Entities, func(ctx context.Context, i int) (err error) {
		writers[i], _, err = s.up(ctx, r.pid(i), false)
		return err
	}); err != nil {
		return answer{}, err
	}
	var latency latencies
	var events atomic.Int64
	m := startMeasuring()
	until := m.start.Add(time.Duration(r.Seconds * float64(time.Second)))
	err := s.all(ctx, r.Entities, func(ctx context.Context, i int) error {
		for {
			started := time.Now()
			if !started.Before(until) {
				return nil
			}
			if _, err := writers[i].Append(ctx, s.payload); err != nil {
				return err
			}
			events.Add(1)
			latency.add(time.Since(started))
		}
	})
	return latency.into(m.end(events.Load())), err
}

// replay recovers all entities concurrently.
func (s *journalService) replay(ctx context.Context, r request) (answer, error) {
	var events atomic.Int64
	m := startMeasuring()
	err := s.all(ctx, r.Entities, func(ctx context.Context, i int) error {
		_, n, err := s.up(ctx, r.pid(i), r.Snapshots)
		events.Add(int64(n))
		return err
	})
	return m.end(events.Load()), err
}

// recover recovers all entities one after the other.
func (s *journalService) recover(ctx context.Context, r request) (answer, error) {
	var latency latencies
	events := 0
	m := startMeasuring()
	for i := range r.Entities {
		started := time.Now()
		_, n, err := s.up(ctx, r.pid(i), r.Snapshots)
		if err != nil {
			return answer{}, err
		}
		latency.add(time.Since(started))
		events += n
	}
	return latency.into(m.end(int64(events))), nil
}

func (s *journalService) all(ctx context.Context, n int, one func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return one(ctx, i) })
	}
	return group.Wait()
}

// measuring is the state at the start of a measurement.
type measuring struct {
	start time.Time
	cpu   time.Duration
}

func startMeasuring() measuring { return measuring{time.Now(), processorTime()} }

func (m measuring) end(count int64) answer {
	return answer{Count: float64(count), Seconds: time.Since(m.start).Seconds(),
		CPUSeconds: (processorTime() - m.cpu).Seconds()}
}

// processorTime returns the processor time of this process, on all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// latencies collects the latencies of concurrent operations. The zero value is ready for use.
type latencies struct {
	mu     sync.Mutex
	values *hdrhistogram.Histogram
}

func (l *latencies) add(d time.Duration) {
	const digits = 3
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.values == nil {
		l.values = hdrhistogram.New(1, int64(time.Minute), digits)
	}
	_ = l.values.RecordValue(min(int64(d), int64(time.Minute))) // the value is within the bounds
}

func (l *latencies) into(a answer) answer {
	if l.values != nil {
		a.P50 = float64(l.values.ValueAtQuantile(50)) / float64(time.Microsecond)
		a.P99 = float64(l.values.ValueAtQuantile(99)) / float64(time.Microsecond)
	}
	return a
}

// memory returns the resident memory of this process, now and at its peak.
func memory() (answer, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return answer{}, fmt.Errorf("read how much memory there is in use: %w", err)
	}
	var a answer
	for line := range bytes.Lines(status) {
		words := bytes.Fields(line)
		const name, kilobytes = 0, 1
		if len(words) <= kilobytes {
			continue
		}
		n, _ := strconv.ParseFloat(string(words[kilobytes]), 64) // other lines have no number
		switch string(words[name]) {
		case "VmRSS:":
			a.Resident = n * 1024
		case "VmHWM:":
			a.Peak = n * 1024
		}
	}
	return a, nil
}
