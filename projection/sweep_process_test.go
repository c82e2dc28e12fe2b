package projection_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// The environment variables that make the test program a process of
// TestNewProjectionOnAnOldJournal: the engine's address, the file of a sweptFile, the number of
// events after which it handles no more, and the number of persistence ids.
const (
	sweepURL  = "SWEEP_URL"
	sweepFile = "SWEEP_FILE"
	sweepMost = "SWEEP_MOST"
	sweepIDs  = "SWEEP_IDS"
)

// sweeping returns the configuration of the process, except values from the environment.
func sweeping() projection.Config {
	return projection.Config{
		Name: "group", ClaimTimeout: time.Second,
		Source: projection.Sweep(projection.SweepOptions{Every: time.Hour, PerSecond: -1}),
	}
}

// sweepOnce runs a new projection until its sweep is done, or the test has ended.
func sweepOnce(url string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		os.Exit(1)
	}()
	most, err := strconv.ParseInt(os.Getenv(sweepMost), 10, 64)
	if err != nil {
		return err
	}
	ids, err := strconv.Atoi(os.Getenv(sweepIDs))
	if err != nil {
		return err
	}
	f, err := openSwept(os.Getenv(sweepFile), ids)
	if err != nil {
		return err
	}
	f.most = most
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j, err := dynajournal.Open(ctx, dynajournal.Config{
		AWS: aws.Config{
			Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Hooks:  []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) { f.spend(r.Cost) }}},
	})
	if err != nil {
		return err
	}
	config := sweeping()
	var over projection.SweepCount
	config.Hooks = append(config.Hooks, projection.Hook{OnSweep: func(_ context.Context, c projection.SweepCount) {
		if c.Done && !over.Done {
			over = c
			go func() {
				defer cancel()
				for sweepPending(ctx, j) { // runs that the killed process had claimed
					time.Sleep(100 * time.Millisecond)
				}
			}()
		}
	}})
	group, err := projection.New(j, config, projection.AtLeastOnce("all", f))
	if err != nil {
		return err
	}
	err = errors.Join(group.Run(ctx), f.failed())
	_ = j.Close()
	if err == nil && over.After == "" {
		err = errors.New("the sweep started again instead of continuing")
	}
	return err
}

// sweepPending reports whether a persistence id has a debt.
func sweepPending(ctx context.Context, j *dynajournal.Journal) bool {
	for _, err := range operator.New(j, "group/all").Debts(ctx) {
		return err == nil
	}
	return false
}

// sweptFile counts the work of processes in a file, so that the counts remain after they are
// killed. It has 5 numbers of 8 bytes: the events, the requests, 1,000 times the read and write
// units, and the maximum memory of the last process in bytes, 0 if the system does not report it.
// After these follows the last handled number of each persistence id, in 4 bytes.
type sweptFile struct {
	file *os.File
	most int64

	mu     sync.Mutex
	spent  dynajournal.Cost
	calls  int   // of spend, in this process
	memory int64 // the last result of mostMemory
	events atomic.Int64
	of     []int32
	err    error
}

const sweptHead = 40

// sweptState is the content of a sweptFile.
type sweptState struct {
	events int64
	cost   dynajournal.Cost
	memory int64
	of     []int32
}

// String leaves out the persistence ids.
func (s sweptState) String() string { return fmt.Sprintf("%d events, %+v", s.events, s.cost) }

func decodeSwept(b []byte) sweptState {
	var s sweptState
	if len(b) < sweptHead {
		return s
	}
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	const units = 1000
	s.events, s.cost = at(0), dynajournal.Cost{
		Requests: int(at(1)), ReadUnits: float64(at(2)) / units, WriteUnits: float64(at(3)) / units,
	}
	s.memory = at(4)
	for b = b[sweptHead:]; len(b) >= 4; b = b[4:] {
		s.of = append(s.of, int32(binary.LittleEndian.Uint32(b)))
	}
	return s
}

// readSwept reads a file that processes write to.
func readSwept(t *testing.T, name string) sweptState {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return decodeSwept(b)
}

func openSwept(name string, ids int) (*sweptFile, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(int64(sweptHead + 4*ids)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(file)
	s := decodeSwept(b)
	f := &sweptFile{file: file, of: s.of, spent: s.cost}
	f.events.Store(s.events)
	return f, err
}

func (f *sweptFile) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
}

func (f *sweptFile) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *sweptFile) spend(c dynajournal.Cost) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spent = f.spent.Add(c)
	const units, between = 1000, 50 // to ask after each request would show in the processor time
	if f.calls%between == 0 {
		f.memory = mostMemory()
	}
	f.calls++
	b := binary.LittleEndian.AppendUint64(nil, uint64(f.events.Load()))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.spent.Requests))
	b = binary.LittleEndian.AppendUint64(b, uint64(math.Round(f.spent.ReadUnits*units)))
	b = binary.LittleEndian.AppendUint64(b, uint64(math.Round(f.spent.WriteUnits*units)))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.memory))
	if _, err := f.file.WriteAt(b, 0); err != nil {
		f.err = errors.Join(f.err, err)
	}
}

// mostMemory returns the maximum memory of the process. For a process that has ended, the system
// reports at least the memory of its parent when it was started.
func mostMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	_, _ = fmt.Sscan(rest, &kb)
	return kb << 10
}

// Handle records an event. Its number must follow the last one: the events of one persistence id
// come one at a time.
func (f *sweptFile) Handle(ctx context.Context, e dynajournal.Event) error {
	i, err := strconv.Atoi(strings.TrimPrefix(e.PersistenceID, "swept"))
	if err != nil {
		return err
	}
	if f.events.Load() >= f.most {
		<-ctx.Done()
		return ctx.Err()
	}
	if e.SequenceNumber > int64(f.of[i])+1 {
		err := fmt.Errorf("%q: event %d comes after %d", e.PersistenceID, e.SequenceNumber, f.of[i])
		f.fail(err)
		return err
	}
	f.events.Add(1)
	if e.SequenceNumber <= int64(f.of[i]) {
		return nil // again
	}
	f.of[i] = int32(e.SequenceNumber)
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(f.of[i]))
	_, err = f.file.WriteAt(b[:], sweptHead+4*int64(i))
	return err
}
