//go:build interop

package interop_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	emulated "github.com/dynajournal/dynajournal/internal/jvm"
)

var (
	emulationScripts = flag.Int("emulation.scripts", 8, "how many random scripts to play with the emulation and the plug-in")
	emulationSeed    = flag.Uint64("emulation.seed", 0, "the seed of the first script")
)

const (
	emulationJournal   = "emulation-journal"
	emulationSnapshots = "emulation-snapshots"
)

// attributes is an item.
type attributes = map[string]types.AttributeValue

// parityTables are the tables of the real plug-in, and separate tables for the emulation.
type parityTables struct {
	*testing.T
	*rand.Rand

	real     *service
	emulated *emulated.Plugin
	pid      string
	// entity is the running emulated persistent actor, or nil. saved is the time of the saved
	// snapshot.
	entity *emulated.Entity
	saved  time.Time
	texts  int
}

// TestEmulation_EqualsPlugIn runs random scripts with the plug-in and its emulation,
// each in its own tables. Between the steps, the same items are put and removed on both sides:
// items that the journal in Go leaves, and damaged items. Both must return the same results, and
// leave the same items.
func TestEmulation_EqualsPlugIn(t *testing.T) {
	s := sharedService(t)
	config := dynajournal.Config{JournalTable: emulationJournal, SnapshotTable: emulationSnapshots}
	newService(t, config, dynajournal.TableOptions{SharedWithJVM: true})
	for seed := *emulationSeed; seed < *emulationSeed+uint64(*emulationScripts); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			p := emulated.New(s.client, emulationJournal, emulationSnapshots, "journal", 10)
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's
			w := &parityTables{T: t, Rand: random, real: s, emulated: p, pid: newPID(t)}
			p.Now = func() time.Time { return w.saved }
			if w.IntN(2) == 0 { // start near the end of a partition
				w.start()
				w.persist(90+w.IntN(12)+100*w.IntN(2), true)
				w.stop()
			}
			for range 12 {
				w.turn()
				w.compare()
				if t.Failed() {
					return
				}
			}
		})
	}
}

// turn starts, uses and stops a persistent actor, after changes of its items.
func (w *parityTables) turn() {
	w.Helper()
	for range w.IntN(4) {
		w.interfere()
	}
	w.start()
	for range w.IntN(6) {
		switch w.IntN(8) {
		case 0, 1, 2:
			w.persist(w.IntN(6)+1, w.IntN(2) == 0)
		case 3:
			w.persist(w.IntN(120)+1, true)
		case 4:
			w.deleteTo(w.Int64N(w.entity.Highest + 1))
		case 5:
			w.deleteTo(w.entity.Highest)
		case 6:
			w.save()
		case 7:
			w.deleteSnapshots()
		}
	}
	w.stop()
}

func (w *parityTables) start() {
	w.Helper()
	want := w.real.startJVM(w, w.pid)
	var err error
	if w.entity, err = w.emulated.Start(w.Context(), w.pid); err != nil {
		w.Fatal(err)
	}
	checkSeen(w, "the emulation, starting,", w.seen(w.entity.Events), seenJVM(want))
	snapshot := w.entity.Snapshot
	switch {
	case w.entity.Highest != want.Last:
		w.Fatalf("the emulation starts after %d, the JVM after %d", w.entity.Highest, want.Last)
	case (snapshot == nil) != (want.Snapshot == nil):
		w.Errorf("the emulation starts with the snapshot %v, the JVM with %v", snapshot, want.Snapshot)
	case snapshot != nil && (snapshot.SequenceNumber != *want.Snapshot ||
		!typedOf(w, string(snapshot.Payload.Bytes)).same(*want.State)):
		w.Errorf("the emulation starts with the snapshot %v, the JVM with %d, %v", snapshot, *want.Snapshot, want.State)
	}
}

func (w *parityTables) stop() {
	w.Helper()
	w.real.stopJVM(w, w.pid)
	w.entity = nil
}

func (w *parityTables) seen(events []emulated.Event) []seen {
	w.Helper()
	var all []seen
	for _, e := range events {
		all = append(all, seen{e.SequenceNumber, typedOf(w, string(e.Bytes))})
	}
	return all
}

func (w *parityTables) persist(n int, atomically bool) {
	w.Helper()
	w.texts++
	values := texts(fmt.Sprint("text ", w.texts), n)
	persist := w.entity.PersistEach
	if atomically {
		persist = w.entity.Persist
	}
	_, err := persist(w.Context(), values...)
	if err != nil {
		w.Fatal(err)
	}
	w.real.persistJVM(w, w.pid, atomically, values...)
}

func (w *parityTables) deleteTo(to int64) {
	w.Helper()
	if w.IntN(8) == 0 {
		to = math.MaxInt64
	}
	if err := w.entity.Delete(w.Context(), to); err != nil {
		w.Fatal(err)
	}
	w.real.jvm.do(w, request{Op: "deleteTo", PID: w.pid, To: &to})
}

func (w *parityTables) save() {
	w.Helper()
	w.texts++
	state := fmt.Sprint("state ", w.texts)
	form := typedOf(w, state)
	w.saved = time.UnixMilli(w.real.jvm.do(w, request{Op: "save", PID: w.pid, State: &form}).TS)
	if err := w.entity.SaveSnapshot(w.Context(), state); err != nil {
		w.Fatal(err)
	}
}

func (w *parityTables) deleteSnapshots() {
	w.Helper()
	c := emulated.All()
	r := request{Op: "deleteSnapshots", PID: w.pid}
	if w.IntN(2) == 0 {
		c.MaxSequenceNumber = w.Int64N(w.entity.Highest + 1)
		r.MaxSeq = &c.MaxSequenceNumber
	}
	if w.IntN(3) == 0 {
		c.MaxTimestamp = w.saved.UnixMilli()
		r.MaxTS = &c.MaxTimestamp
	}
	if w.saved.IsZero() {
		return
	}
	if err := w.entity.DeleteSnapshots(w.Context(), c); err != nil {
		w.Fatal(err)
	}
	w.real.jvm.do(w, r)
}

// interfere puts or removes an item on both sides.
func (w *parityTables) interfere() {
	w.Helper()
	highest, err := w.emulated.Highest(w.Context(), w.pid)
	if err != nil {
		w.Fatal(err)
	}
	n := max(highest-int64(w.IntN(12))+2, 1)
	if w.IntN(4) == 0 {
		n = w.Int64N(highest+1) + 1
	}
	event := func(with attributes) {
		i := w.key(fmt.Sprintf("journal-P-%s-%d", w.pid, n/100), n%100)
		i["idx"], i["cnt"] = numeric(1_000_000_000), numeric(1_000_000_000)
		for name, v := range with {
			i[name] = v
		}
		w.put(i)
	}
	mark := func(kind string, seq int64, with attributes) {
		i := w.key(fmt.Sprintf("journal-%s-%s-%d", kind, w.pid, seq/100%10), 0)
		i["seq"] = numeric(seq)
		for name, v := range with {
			i[name] = v
		}
		w.put(i)
	}
	switch w.IntN(7) {
	case 0: // a seal
		event(nil)
	case 1: // a tombstone
		event(attributes{"expires": numeric(2_000_000_000)})
	case 2: // a fence
		event(attributes{"expires": numeric(2_000_000_000), "low": numeric(n)})
	case 3: // a low mark of Go
		mark("SL", n-n%100, attributes{"low": numeric(n), "removed": numeric(1)})
	case 4: // a low mark that both see
		mark("SL", n, nil)
	case 5:
		mark("SH", n-n%100, nil)
	case 6:
		w.lose(w.key(fmt.Sprintf("journal-P-%s-%d", w.pid, n/100), n%100))
	}
}

func numeric(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func (w *parityTables) key(par string, num int64) attributes {
	return attributes{"par": &types.AttributeValueMemberS{Value: par}, "num": numeric(num)}
}

func (w *parityTables) put(i attributes) {
	w.Helper()
	for _, table := range []string{w.real.journalTable(), emulationJournal} {
		_, err := w.real.client.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: &table, Item: i})
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w *parityTables) lose(key attributes) {
	w.Helper()
	for _, table := range []string{w.real.journalTable(), emulationJournal} {
		_, err := w.real.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// compare compares all items, and the results of reading them.
func (w *parityTables) compare() {
	w.Helper()
	journal := []string{"journal-P-" + w.pid + "-", "journal-SH-" + w.pid + "-", "journal-SL-" + w.pid + "-"}
	want := w.real.items(w, w.real.journalTable(), "num", journal...)
	got := w.real.items(w, emulationJournal, "num", journal...)
	w.same(inTurn(got), inTurn(want))
	snapshots := "journal-P-" + w.pid
	w.same(w.real.items(w, emulationSnapshots, "seq", snapshots), w.real.items(w, dynajournal.DefaultSnapshotTable, "seq", snapshots))
	for _, window := range someWindows(w.Rand, max(w.highest(), 1), 6, true) {
		most := int64(math.MaxInt64)
		if window.max != nil {
			most = *window.max
		}
		want := w.real.jvm.do(w, request{Op: "replay", PID: w.pid, From: &window.from, To: &window.to, Max: window.max})
		events, highest, err := w.emulated.Replay(w.Context(), w.pid, window.from, window.to, most)
		if err != nil || highest != want.Highest {
			w.Errorf("%v: the emulation finds the highest number %d, %v, the JVM %d",
				window, highest, err, want.Highest)
		}
		checkSeen(w, fmt.Sprintf("%v: the emulation", window), w.seen(events), seenJVM(want))
	}
}

func (w *parityTables) highest() int64 {
	w.Helper()
	highest, err := w.emulated.Highest(w.Context(), w.pid)
	if err != nil {
		w.Fatal(err)
	}
	return highest
}

// inTurn replaces the writers of items with names in the order of their first item, because each
// side has its own writers.
func inTurn(items map[string]attributes) map[string]attributes {
	writers := map[string]string{}
	keys := make([]string, 0, len(items))
	for key := range items {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		writer, ok := items[key]["writer_uuid"].(*types.AttributeValueMemberS)
		if !ok {
			continue
		}
		if writers[writer.Value] == "" {
			writers[writer.Value] = fmt.Sprint("writer ", len(writers))
		}
		items[key]["writer_uuid"] = &types.AttributeValueMemberS{Value: writers[writer.Value]}
	}
	return items
}

func (w *parityTables) same(got, want map[string]attributes) {
	w.Helper()
	for key, item := range got {
		if !reflect.DeepEqual(item, want[key]) {
			w.Errorf("at %s the emulation has left\n%s, the JVM\n%s", key, show(item), show(want[key]))
		}
	}
	for key, item := range want {
		if got[key] == nil {
			w.Errorf("at %s the emulation has left nothing, the JVM\n%s", key, show(item))
		}
	}
}
