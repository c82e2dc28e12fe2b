package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// gate is an HTTP client that blocks each PutItem while it is closed.
type gate struct {
	aws.HTTPClient

	closed atomic.Pointer[chan struct{}]
}

// Do sends a request.
func (g *gate) Do(r *http.Request) (*http.Response, error) {
	if open := g.closed.Load(); open != nil && operation(r) == "PutItem" {
		<-*open
	}
	return g.HTTPClient.Do(r)
}

// unitsHook adds up the consumed units of requests.
type unitsHook struct {
	mu         sync.Mutex
	statements []int
	units      float64
}

func (h *unitsHook) OnRequest(_ context.Context, r dynajournal.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Statements > 0 {
		h.statements = append(h.statements, r.Statements)
	}
	h.units += r.Cost.WriteUnits
}

// Every writer of a shared request is charged the cost of its own event when it is written alone,
// whether the server reports the capacity of the table or of each statement.
func TestUnitsOfEachWriterOfASharedRequest(t *testing.T) {
	for kind, tables := range kinds {
		for _, form := range []embedded.Effect{"", embedded.EffectStatementCapacity} {
			t.Run(kind+" "+string(form), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { compareUnits(t, tables, form) })
			})
		}
	}
}

func compareUnits(t *testing.T, tables dynajournal.TableOptions, form embedded.Effect) {
	t.Helper()
	engine := openEngine(t, embedded.WithSweepInterval(0))
	if form != "" {
		if _, err := engine.Inject(embedded.Fault{Effect: form}); err != nil {
			t.Fatal(err)
		}
	}
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, tables)
	config.GroupCommit = dynajournal.GroupCommitOff
	alone := openJournal(t, config)
	blocked, seen := &gate{HTTPClient: engine.AWSConfig().HTTPClient}, &unitsHook{}
	config.GroupCommit, config.AWS.HTTPClient = dynajournal.GroupCommitAuto, blocked
	config.Hooks = []dynajournal.Hook{{OnRequest: seen.OnRequest}}
	j := openJournal(t, config)
	text := func(size int) string { return strings.Repeat("x", size) }
	appendTo := func(w *dynajournal.Writer, size int) float64 {
		t.Helper()
		result, err := w.Append(t.Context(), text(size))
		if err != nil {
			t.Fatalf("%s: %v", w.PersistenceID(), err)
		}
		return result.Cost.WriteUnits
	}

	// The first event of an id also costs an entry in the index of a native journal, and a long id
	// costs two or three units there.
	writers, sizes, want := map[string]*dynajournal.Writer{}, map[string]int{}, map[string]float64{}
	for i, size := range []int{10, 900, 1100, 5000, 20_000} {
		for _, events := range []int{0, 1} {
			pid := fmt.Sprintf("%d-%d-%s", i, events, text(200*i))
			single := recoverWriter(t, alone, "as-"+pid, 0)
			writers[pid], sizes[pid] = recoverWriter(t, j, pid, 0), size
			for range events {
				appendTo(single, 1)
				appendTo(writers[pid], 1)
			}
			want[pid] = appendTo(single, size)
		}
	}
	// The number of another writer was taken, with an event of three units.
	stale := recoverWriter(t, j, "stale", 0)
	appendTo(recoverWriter(t, alone, "stale", 0), 3000-200)
	const taken = 3

	before := seen.units
	open := make(chan struct{})
	blocked.closed.Store(&open)
	var all sync.WaitGroup
	for i := range 2 {
		w := recoverWriter(t, j, fmt.Sprint("held-", i), 0)
		all.Go(func() { appendTo(w, 1) })
		synctest.Wait() // each has its own request, which the gate blocks
	}
	var mu sync.Mutex
	got := map[string]float64{}
	for pid, w := range writers {
		all.Go(func() {
			units := appendTo(w, sizes[pid])
			mu.Lock()
			defer mu.Unlock()
			got[pid] = units
		})
	}
	all.Go(func() {
		if _, err := stale.Append(t.Context(), "y"); !errors.Is(err, dynajournal.ErrWriterConflict) {
			t.Errorf("the stale writer: %v", err)
		}
	})
	synctest.Wait()
	close(open)
	all.Wait()
	sum := 0.0
	for pid, units := range want {
		if got[pid] != units {
			t.Errorf("%.10s: %v write units, want %v as alone", pid, got[pid], units)
		}
		sum += units
	}
	statements := 0
	for _, n := range seen.statements {
		statements += n
	}
	if statements != len(want)+1 {
		t.Errorf("shared requests of %v statements, want %d of all writers", seen.statements, len(want)+1)
	}
	eventUnits := 2 * 2.0
	if all := seen.units - before; all != sum+taken+eventUnits {
		t.Errorf("the hook saw %v units, want %v", all, sum+taken+eventUnits)
	}
}
