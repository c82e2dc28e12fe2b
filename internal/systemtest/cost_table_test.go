package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// spent is the cost of some work, as the engine counted it.
type spent struct {
	requests    int64
	read, write float64
}

// meter measures the cost of work on an engine.
type meter struct {
	engine *embedded.Engine
}

func (m meter) total() spent {
	var sum spent
	counted := m.engine.Counters()
	for _, n := range counted.Requests {
		sum.requests += n
	}
	for _, u := range counted.Units {
		sum.read += u.Read
		sum.write += u.Write
	}
	return sum
}

func (m meter) of(work func()) spent {
	before := m.total()
	work()
	after := m.total()
	return spent{after.requests - before.requests, after.read - before.read, after.write - before.write}
}

// costOf does all work that the cost table of bench/RESULTS.md names, on its own journal, and
// returns the cost of each row. Events and snapshots have 512 bytes.
func costOf(t *testing.T, shards int, opts dynajournal.TableOptions) map[string]spent {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), SequenceShards: shards}
	if err := dynajournal.CreateTables(t.Context(), config, opts); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	payload := bytes.Repeat([]byte{0xa5}, 512)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	single := func(w *dynajournal.Writer, n int) {
		for range n {
			_, err := w.Append(t.Context(), payload)
			check(err)
		}
	}
	batch := func(w *dynajournal.Writer, n int) {
		events := make([]any, n)
		for i := range events {
			events[i] = payload
		}
		_, err := w.Append(t.Context(), events...)
		check(err)
	}
	save := func(pid string, seq int64) {
		_, err := j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: seq}, payload)
		check(err)
	}
	load := func(pid string) int64 {
		s, found, err := j.LoadSnapshot(t.Context(), pid, dynajournal.SnapshotCriteria{})
		check(err)
		if !found {
			return 0
		}
		return s.SequenceNumber
	}
	deleteTo := func(w *dynajournal.Writer, to int64) {
		_, err := w.DeleteTo(t.Context(), to)
		check(err)
	}

	counted, m := map[string]spent{}, meter{engine}
	var w *dynajournal.Writer
	counted["recovery of a new entity"] = m.of(func() { w = recoverWriter(t, j, "single", 0) })
	counted["the first event"] = m.of(func() { single(w, 1) })
	single(w, 97)
	counted["an event"] = m.of(func() { single(w, 1) })
	counted["the event at 100"] = m.of(func() { single(w, 1) })
	single(w, 150)
	counted["recovery of 250 events"] = m.of(func() { recoverWriter(t, j, "single", 0) })

	w = recoverWriter(t, j, "batch", 0)
	single(w, 1)
	counted["an atomic write of 10"] = m.of(func() { batch(w, 10) })
	batch(w, 84)
	counted["an atomic write of 10 over 100"] = m.of(func() { batch(w, 10) })

	single(recoverWriter(t, j, "small", 0), 5)
	counted["recovery of 5 events"] = m.of(func() { recoverWriter(t, j, "small", 0) })
	counted["saving a snapshot"] = m.of(func() { save("small", 5) })
	counted["loading a snapshot"] = m.of(func() { load("small") })
	counted["loading no snapshot"] = m.of(func() { load("single") })
	single(recoverWriter(t, j, "small", 5), 5)
	counted["recovery of a snapshot and 5 events"] = m.of(func() { recoverWriter(t, j, "small", load("small")) })

	w = recoverWriter(t, j, "cut", 0)
	batch(w, 1250)
	counted["deletion of 1000 events of 1250"] = m.of(func() { deleteTo(w, 1000) })
	counted["recovery of 250 events behind 1000 deleted"] = m.of(func() { recoverWriter(t, j, "cut", 0) })
	w = recoverWriter(t, j, "gone", 0)
	batch(w, 1000)
	deleteTo(w, 1000)
	counted["recovery after all of 1000 were deleted"] = m.of(func() { recoverWriter(t, j, "gone", 0) })

	states, err := entity.OpenStates(j, entity.StateType[[]byte]{Name: "state"}, entity.Options{})
	check(err)
	record := func() {
		_, err := states.Update(t.Context(), "one", func(tx *entity.StateTx[[]byte]) error {
			tx.Record(payload)
			return nil
		})
		check(err)
	}
	counted["the first write of a durable state"] = m.of(record)
	counted["a write of a durable state"] = m.of(record)
	counted["a view of a durable state"] = m.of(func() {
		_, err := states.View(t.Context(), "one", func([]byte) error { return nil })
		check(err)
	})
	check(states.Close(t.Context()))

	for i := range 995 { // 1000 with the ids above
		single(recoverWriter(t, j, fmt.Sprintf("id-%d", i), 0), 1)
	}
	ids := 0
	counted["listing 1000 persistence ids"] = m.of(func() {
		for _, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{}) {
			check(err)
			ids++
		}
	})
	if ids != 1000 {
		t.Errorf("%d persistence ids are listed, want 1000", ids)
	}
	return counted
}

// costColumns are the journals of the cost table.
var costColumns = []struct {
	name   string
	shards int
	opts   dynajournal.TableOptions
}{
	{"native", 1, dynajournal.TableOptions{}},
	{"shared, 1 shard", 1, dynajournal.TableOptions{SharedWithJVM: true}},
	{"shared, 10 shards", 10, dynajournal.TableOptions{SharedWithJVM: true}},
}

// costTable has the cost of each row in each column: requests, read units, write units.
var costTable = map[string][3]spent{
	"a view of a durable state":                  {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}},
	"a write of a durable state":                 {{1, 0, 1}, {1, 0, 1}, {1, 0, 1}},
	"an atomic write of 10":                      {{1, 0, 10}, {1, 0, 20}, {1, 0, 20}},
	"an atomic write of 10 over 100":             {{2, 0, 11}, {2, 0, 22}, {2, 0, 22}},
	"an event":                                   {{1, 0, 1}, {1, 0, 2}, {1, 0, 2}},
	"deletion of 1000 events of 1250":            {{55, 163, 1004}, {55, 163, 1003}, {55, 172, 1003}},
	"listing 1000 persistence ids":               {{8, 8, 0}, {2, 4, 0}, {2, 4, 0}},
	"loading a snapshot":                         {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}},
	"loading no snapshot":                        {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}},
	"recovery after all of 1000 were deleted":    {{4, 6, 0}, {4, 6, 0}, {4, 26, 0}},
	"recovery of 250 events":                     {{4, 42, 0}, {4, 42, 0}, {4, 60, 0}},
	"recovery of 250 events behind 1000 deleted": {{5, 45, 0}, {5, 45, 0}, {5, 62, 0}},
	"recovery of 5 events":                       {{2, 3, 0}, {2, 3, 0}, {2, 21, 0}},
	"recovery of a new entity":                   {{3, 4, 0}, {3, 4, 0}, {3, 24, 0}},
	"recovery of a snapshot and 5 events":        {{3, 4, 0}, {3, 4, 0}, {3, 22, 0}},
	"saving a snapshot":                          {{2, 1, 1}, {1, 0, 2}, {1, 0, 2}},
	"the event at 100":                           {{2, 0, 2}, {2, 0, 4}, {2, 0, 4}},
	"the first write of a durable state":         {{2, 1, 1}, {2, 1, 1}, {2, 1, 1}},
	"the first event":                            {{1, 0, 2}, {1, 0, 2}, {1, 0, 2}},
}

func TestCostTable(t *testing.T) {
	t.Parallel()
	for i, column := range costColumns {
		if !testsize.Long && i%2 != 0 {
			continue // the first and the last column have both kinds and both numbers of shards
		}
		t.Run(column.name, func(t *testing.T) {
			t.Parallel()
			got := costOf(t, column.shards, column.opts)
			for what, want := range costTable {
				if got[what] != want[i] {
					t.Errorf("%s: %+v, want %+v", what, got[what], want[i])
				}
			}
			if len(got) != len(costTable) {
				t.Errorf("%d costs are counted, the table has %d", len(got), len(costTable))
			}
		})
	}
}

// The last column, the plug-in's, is tested with the plug-in itself.
func TestCostTableOfTheDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "bench", "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for what, costs := range costTable {
		row := "| " + what
		for _, c := range costs {
			row += fmt.Sprintf(" | %d / %g / %g", c.requests, c.read, c.write)
		}
		if !strings.Contains(string(page), "\n"+row+" | ") {
			t.Errorf("bench/RESULTS.md has no row %q", row)
		}
	}
}
