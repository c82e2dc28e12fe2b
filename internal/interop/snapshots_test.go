//go:build interop

package interop_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// saveGo saves a state in Go.
func saveGo(tb testing.TB, j *dynajournal.Journal, pid string, seq int64, state any) {
	tb.Helper()
	metadata := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: seq}
	if _, err := j.SaveSnapshot(tb.Context(), metadata, state); err != nil {
		tb.Fatalf("save a snapshot in Go: %v", err)
	}
}

// loadGo loads the snapshot that criteria select. The result has the number 0 if no snapshot is
// found.
func loadGo(tb testing.TB, j *dynajournal.Journal, pid string, criteria dynajournal.SnapshotCriteria) seen {
	tb.Helper()
	snapshot, found, err := j.LoadSnapshot(tb.Context(), pid, criteria)
	if err != nil {
		tb.Fatalf("load a snapshot in Go: %v", err)
	}
	if !found {
		return seen{}
	}
	state, err := snapshot.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return seen{snapshot.SequenceNumber, typedOf(tb, state)}
}

// checkStarted checks the snapshot, or 0, from which a persistent actor recovered, and the events
// replayed after it.
func checkStarted(tb testing.TB, started answer, snapshot int64, state any, replayed ...int64) {
	tb.Helper()
	switch {
	case snapshot == 0 && started.Snapshot != nil:
		tb.Errorf("the JVM starts with the snapshot at %d, want none", *started.Snapshot)
	case snapshot != 0 && (started.Snapshot == nil || *started.Snapshot != snapshot):
		tb.Errorf("the JVM does not start with the snapshot at %d, but %+v", snapshot, started)
	case snapshot != 0 && !started.State.same(typedOf(tb, state)):
		tb.Errorf("the JVM starts with the state %v, want %v", started.State, state)
	}
	got := numbersOf(seenJVM(started))
	if len(got) != len(replayed) || len(got) > 0 && (got[0] != replayed[0] || got[len(got)-1] != replayed[len(replayed)-1]) {
		tb.Errorf("the JVM replays %v after the snapshot, want %v", got, replayed)
	}
}

func TestSnapshotsOfEveryKindAreReadByTheOtherSide(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for _, state := range kinds() {
		if _, ok := state.(remark); ok {
			continue // adapters are for events
		}
		byGo, byJVM := newPID(t), newPID(t)
		for _, pid := range []string{byGo, byJVM} {
			recoverGo(t, j, pid, 0).appendAll(t, false, texts("event", 3)...)
		}
		saveGo(t, j, byGo, 2, state)
		checkStarted(t, s.startJVM(t, byGo), 2, state, 3)
		s.stopJVM(t, byGo)

		s.startJVM(t, byJVM)
		form := typedOf(t, state)
		s.jvm.do(t, request{Op: "save", PID: byJVM, State: &form})
		s.stopJVM(t, byJVM)
		got := loadGo(t, j, byJVM, dynajournal.SnapshotCriteria{})
		checkSeen(t, "Go", []seen{got}, []seen{{3, form}})
	}
}

func TestSnapshotInTheEnvelopeOfAkkaIsReadByTheJVM(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t, func(c *dynajournal.Config) { c.OldSnapshotFormat = true }), newPID(t)
	recoverGo(t, j, pid, 0).appendAll(t, false, texts("event", 3)...)
	saveGo(t, j, pid, 2, orderPlaced{ID: "a"})
	checkStarted(t, s.startJVM(t, pid), 2, orderPlaced{ID: "a"}, 3)
	s.stopJVM(t, pid)
}

func TestJVMPassesOverSnapshotsThatOnlyGoReads(t *testing.T) {
	s := sharedService(t)
	large := strings.Repeat("a state of a megabyte ", 50_000)
	for name, test := range map[string]struct {
		change func(*dynajournal.Config)
		state  any
	}{
		"split":             {func(*dynajournal.Config) {}, large},
		"compressed":        {func(c *dynajournal.Config) { c.SnapshotCompression = true }, "a small state"},
		"split, compressed": {func(c *dynajournal.Config) { c.SnapshotCompression = true }, incompressible()},
	} {
		t.Run(name, func(t *testing.T) {
			plain, j, pid := s.open(t), s.open(t, test.change), newPID(t)
			inGo := recoverGo(t, j, pid, 0)
			inGo.appendAll(t, false, texts("event", 4)...)
			saveGo(t, j, pid, 4, test.state)
			checkStarted(t, s.startJVM(t, pid), 0, nil, 1, 2, 3, 4)
			s.stopJVM(t, pid)

			saveGo(t, plain, pid, 2, "an older state")
			for _, by := range []request{
				{}, {MaxSeq: new(int64(9))}, {MinSeq: new(int64(1)), MaxSeq: new(int64(9))}, {MaxSeq: new(int64(math.MaxInt64 - 1))},
				{MaxTS: new(time.Now().Add(time.Hour).UnixMilli())}, {MinTS: new(int64(1))},
			} {
				by.Op, by.PID = "load", pid
				loaded := s.jvm.do(t, by)
				if loaded.Seq == nil || *loaded.Seq != 2 {
					t.Errorf("asked for %+v, the JVM loads %+v, want the snapshot at 2", by, loaded)
				}
			}
			checkStarted(t, s.startJVM(t, pid), 2, "an older state", 3, 4)
			checkSeen(t, "Go", []seen{loadGo(t, plain, pid, dynajournal.SnapshotCriteria{})}, []seen{{4, typedOf(t, test.state)}})

			// The JVM deletes the snapshots that it knows, and leaves snapshots that only Go reads.
			s.jvm.do(t, request{Op: "deleteSnapshots", PID: pid})
			s.stopJVM(t, pid)
			if loaded := s.jvm.do(t, request{Op: "load", PID: pid}); loaded.Seq != nil {
				t.Errorf("after it has deleted all the JVM loads the snapshot at %d", *loaded.Seq)
			}
			checkSeen(t, "Go, after the JVM's deletion,", []seen{loadGo(t, plain, pid, dynajournal.SnapshotCriteria{})}, []seen{{4, typedOf(t, test.state)}})
		})
	}
}

// A JVM saves a snapshot at the number of a snapshot that it cannot see. The JVM's snapshot must
// also count for Go, for any clocks.
func TestSnapshotOfTheJVMCountsOverASplitOne(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t, func(c *dynajournal.Config) { c.SnapshotCompression = true }), newPID(t)
	recoverGo(t, j, pid, 0).appendAll(t, false, texts("event", 3)...)
	ahead := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: 3, Timestamp: time.Now().Add(time.Hour)}
	if _, err := j.SaveSnapshot(t.Context(), ahead, "a state of Go"); err != nil {
		t.Fatal(err)
	}
	s.startJVM(t, pid)
	state := typedOf(t, "a state of the JVM")
	s.jvm.do(t, request{Op: "save", PID: pid, State: &state})
	s.stopJVM(t, pid)
	checkSeen(t, "Go", []seen{loadGo(t, j, pid, dynajournal.SnapshotCriteria{})}, []seen{{3, state}})
	if deleted, err := j.DeleteSnapshots(t.Context(), pid, dynajournal.SnapshotCriteria{}); err != nil || deleted != 1 {
		t.Errorf("Go deletes %d snapshots (%v), want the one of number 3", deleted, err)
	}
	if _, found, err := j.LoadSnapshot(t.Context(), pid, dynajournal.SnapshotCriteria{}); err != nil || found {
		t.Errorf("after its deletion a snapshot is found: %t (%v)", found, err)
	}
}

// incompressible returns a state that does not fit into an item even with zstd.
func incompressible() []byte {
	var state bytes.Buffer
	for x := uint64(1); state.Len() < 1<<20; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		state.WriteByte(byte(x))
	}
	return state.Bytes()
}

func TestSnapshotsAreDeletedByTheOtherSide(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t), newPID(t)
	s.startJVM(t, pid)
	for range 4 {
		s.persistJVM(t, pid, false, "event")
		state := typedOf(t, "state of the JVM")
		s.jvm.do(t, request{Op: "save", PID: pid, State: &state})
	}
	s.stopJVM(t, pid)
	saveGo(t, j, pid, 5, "state of Go")

	deleted, err := j.DeleteSnapshots(t.Context(), pid, dynajournal.SnapshotCriteria{MinSequenceNumber: 4, MaxSequenceNumber: 5})
	if err != nil || deleted != 2 {
		t.Fatalf("Go deletes %d snapshots (%v), want 2", deleted, err)
	}
	checkStarted(t, s.startJVM(t, pid), 3, "state of the JVM", 4)
	s.jvm.do(t, request{Op: "deleteSnapshots", PID: pid, MaxSeq: new(int64(3)), MinSeq: new(int64(2))})
	s.stopJVM(t, pid)
	if got := loadGo(t, j, pid, dynajournal.SnapshotCriteria{}); got.seq != 1 {
		t.Errorf("after the JVM's deletion Go loads the snapshot at %d, want 1", got.seq)
	}
}

func TestEntityWithSnapshotsIsHandedOver(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t), newPID(t)
	s.startJVM(t, pid)
	s.persistJVM(t, pid, false, texts("jvm", 98)...)
	state := typedOf(t, orderPlaced{"state", 98, ""})
	s.jvm.do(t, request{Op: "save", PID: pid, State: &state})
	s.persistJVM(t, pid, true, texts("jvm", 4)...)
	s.stopJVM(t, pid)

	snapshot := loadGo(t, j, pid, dynajournal.SnapshotCriteria{})
	checkSeen(t, "Go, taking over,", []seen{snapshot}, []seen{{98, state}})
	inGo := recoverGo(t, j, pid, snapshot.seq)
	checkSeen(t, "Go, taking over,", inGo.events, numbered(t, 99, texts("jvm", 4)...))
	// A JVM does not see the rest of an atomic write that a deletion cuts.
	inGo.appendAll(t, true, "go-1", "go-2")
	inGo.appendAll(t, false, "go-3")
	saveGo(t, j, pid, 104, orderShipped{"state", 104, ""})
	if _, err := inGo.DeleteTo(t.Context(), 104); err != nil {
		t.Fatal(err)
	}

	started := s.startJVM(t, pid)
	checkStarted(t, started, 104, orderShipped{"state", 104, ""}, 105)
	if started.Last != 105 {
		t.Errorf("the JVM continues after %d, want 105", started.Last)
	}
	s.persistJVM(t, pid, false, "jvm again")
	s.stopJVM(t, pid)
	checkSeen(t, "Go, at the end,", recoverGo(t, j, pid, 104).events, numbered(t, 105, "go-3", "jvm again"))
}
