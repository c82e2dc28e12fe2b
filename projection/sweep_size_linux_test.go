package projection_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

var (
	sweptIDs = flag.Int("sweep.ids", testsize.Of(260, 1000),
		"how many persistence ids TestNewProjectionOnAnOldJournal has, at least 260")
	sweptEvents = flag.Int("sweep.events", testsize.Of(600, 30_000),
		"how many events it has, as many for each persistence id")
	sweptFolder = flag.String("sweep.folder", "", "where its journal is; a temporary folder by default")
)

// maxSweepMemory bounds the memory of a process that sweeps, however many ids there are.
const maxSweepMemory = 256 << 20

// A new projection gets all events of an old journal by a sweep. Its process is killed, and another
// one continues at the stored position. The estimate equals what the two have used.
func TestNewProjectionOnAnOldJournal(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it runs several processes")
	b, url := serveOld(t)
	each := *sweptEvents / *sweptIDs
	started := time.Now()
	b.load(*sweptIDs, each)
	t.Logf("%d events of %d persistence ids stored in %v", each**sweptIDs, *sweptIDs, time.Since(started).Round(time.Second))

	config := sweeping()
	config.Source = projection.Sweep(projection.SweepOptions{PerSecond: 1000})
	started = time.Now()
	all := group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{}))
	stated, err := operator.EstimateSweep(t.Context(), all, operator.EstimateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("stated after %v: %+v", time.Since(started).Round(time.Millisecond), stated)

	file := filepath.Join(t.TempDir(), "swept")
	started = time.Now()
	killed := forkSweep(t, url, file, each**sweptIDs*9/10)
	for most, handled := int64(each**sweptIDs*9/10), int64(0); handled < most; {
		until(t, "another event is handled", func() bool { return readSwept(t, file).events > handled })
		handled = readSwept(t, file).events
	}
	until(t, "a position is stored", func() bool { return b.sweepPosition() != "" })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	first := readSwept(t, file)
	last := forkSweep(t, url, file, math.MaxInt)
	if err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	both := readSwept(t, file)
	t.Logf("counted after %v: %+v, of which %+v until the kill", time.Since(started).Round(time.Second), both, first)
	for i, seq := range both.of {
		if seq != int32(each) {
			t.Fatalf("persistence id %d is handled up to %d of %d", i, seq, each)
		}
	}
	for f, err := range operator.New(b.journal, "group/all").Audit(t.Context(), operator.AuditOptions{MinAge: -1, PerSecond: -1}) {
		t.Fatalf("%+v, %v", f, err)
	}
	// The second process repeats the ids after the stored position, at 10 requests and units each
	// at most. Both processes have a registry and poll for requests. Requests that were under way
	// when the first one was killed, one for each handler, were not counted.
	const again, more, uncounted = 256 + 200, 10, 16
	if off := both.events - int64(each**sweptIDs); off < 0 || off > int64(again*each) {
		t.Errorf("%d events were handled again", off)
	}
	for what, n := range map[string][3]float64{
		"requests":    {float64(both.cost.Requests), float64(stated.Cost.Requests), float64(stated.CostMargin.Requests)},
		"read units":  {both.cost.ReadUnits, stated.Cost.ReadUnits, stated.CostMargin.ReadUnits},
		"write units": {both.cost.WriteUnits, stated.Cost.WriteUnits, stated.CostMargin.WriteUnits},
	} {
		if counted, stated, margin := n[0], n[1], 3*n[2]; counted < stated-margin-uncounted || counted > stated+margin+again*more+time.Since(started).Seconds()*more {
			t.Errorf("%s: counted %v, stated %v", what, counted, stated)
		}
	}
	for _, process := range []sweptState{first, both} {
		// The race detector needs as much again.
		if process.memory == 0 || process.memory > maxSweepMemory && !testsize.Race {
			t.Errorf("a process took %d MiB", process.memory>>20)
		}
		t.Logf("a process took %d MiB", process.memory>>20)
	}
	for _, process := range []*exec.Cmd{killed, last} {
		used := process.ProcessState.UserTime() + process.ProcessState.SystemTime()
		t.Logf("a process took %v of processor time", used.Round(time.Millisecond))
	}
}

// serveOld serves an engine on disk with the tables of a journal, at the URL.
func serveOld(t *testing.T) (b *bundle, url string) {
	t.Helper()
	folder := *sweptFolder
	if folder == "" {
		folder = t.TempDir()
	}
	engine, err := embedded.Open(folder, embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	serving := make(chan error, 1)
	go func() { serving <- engine.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-serving, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	b = &bundle{
		Bundle: &enginetest.Bundle{TB: t, Engine: engine, Config: dynajournal.Config{AWS: engine.AWSConfig()}},
		table:  dynamodb.NewFromConfig(engine.AWSConfig()),
	}
	if err := dynajournal.CreateTables(t.Context(), b.Config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	b.journal = b.Journal()
	return b, "http://" + listener.Addr().String()
}

// sweptID returns the persistence id with a number.
func sweptID(i int) string { return fmt.Sprintf("swept%08d", i) }

// load stores persistence ids with n events each. It is faster than a journal, which would fence
// other writers. The journal writes the first event, which adds the id to the index, and a recovery
// at the end puts the marks.
func (b *bundle) load(ids, n int) {
	b.Helper()
	const atOnce = 64
	loading, ctx := errgroup.WithContext(b.Context())
	loading.SetLimit(atOnce)
	for i := range ids {
		loading.Go(func() error {
			w, err := b.journal.Recover(ctx, sweptID(i), dynajournal.RecoverOptions{}, nil)
			if err != nil {
				return err
			}
			if _, err := w.Append(ctx, strings.Repeat("x", 100)); err != nil || n == 1 {
				return err
			}
			if err := b.loadRest(ctx, sweptID(i), n); err != nil {
				return err
			}
			_, err = b.journal.Recover(ctx, sweptID(i), dynajournal.RecoverOptions{After: int64(n)}, nil)
			return err
		})
	}
	if err := loading.Wait(); err != nil {
		b.Fatal(err)
	}
}

// loadRest stores the events 2 to n of a persistence id.
func (b *bundle) loadRest(ctx context.Context, pid string, n int) error {
	const most, stringSerializer = 25, 20
	keys := layout.Keys{Journal: dynajournal.DefaultJournalName, Shards: 1}
	var puts []types.WriteRequest
	for seq := 2; seq <= n; seq++ {
		event := layout.Event{
			PersistenceID: pid, SequenceNr: int64(seq), Bytes: []byte(strings.Repeat("x", 100)), SerializerID: stringSerializer,
			WriterUUID: "00000000-0000-4000-8000-000000000000",
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: keys.EncodeEvent(&event)}})
	}
	for part := range slices.Chunk(puts, most) {
		left := map[string][]types.WriteRequest{dynajournal.DefaultJournalTable: part}
		for len(left) > 0 {
			out, err := b.table.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
			if err != nil {
				return err
			}
			left = out.UnprocessedItems
		}
	}
	return nil
}

// forkSweep starts a process that sweeps. It handles at most a number of events.
func forkSweep(t *testing.T, url, file string, most int) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), sweepURL+"="+url, sweepFile+"="+file,
		fmt.Sprintf("%s=%d", sweepMost, most), fmt.Sprintf("%s=%d", sweepIDs, *sweptIDs))
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil { // the process ends when this one does
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait() // the test has failed
		}
	})
	return c
}
