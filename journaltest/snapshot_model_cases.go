package journaltest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// snapshotModelCases compare a store with a model: a map of snapshots, filtered exactly.
func snapshotModelCases() []snapshotCase {
	return []snapshotCase{{"random saves, loads and deletions do what a filtered map does", likeAMap}}
}

func likeAMap(s *snapshotScene) {
	run := 0
	rapid.Check(s.T, func(t *rapid.T) {
		run++ // each run has its own id in the same store
		m := &snapshotModel{scene: s, pid: fmt.Sprintf("a%d", run), snapshots: map[int64]Snapshot{}}
		for range rapid.IntRange(1, modelSteps).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"save", "save again", "load", "delete"}).Draw(t, "step") {
			case "load":
				m.load(t)
			case "delete":
				m.remove(t)
			default:
				m.save(t)
			}
		}
		m.load(t)
		m.check(t)
	})
}

// snapshotModel is the expected content of a store.
type snapshotModel struct {
	scene     *snapshotScene
	pid       string
	saves     uint64
	snapshots map[int64]Snapshot
}

const (
	modelSteps = 12
	// modelNumbers and modelTimes are few, so that numbers are saved again and timestamps are
	// equal.
	modelNumbers = 8
	modelTimes   = 6
	// modelLargest limits the size of a state, so that runs stay fast.
	modelLargest = 10_000
)

func (m *snapshotModel) save(t *rapid.T) {
	snapshot := Snapshot{
		SequenceNumber: rapid.Int64Range(1, modelNumbers).Draw(t, "number"),
		Timestamp:      at(rapid.Int64Range(0, modelTimes).Draw(t, "ms")),
	}
	sizes := []int{0, 20}
	if border := m.scene.suite.Border; border != nil {
		if n := border(m.pid, snapshot); n < modelLargest {
			sizes = append(sizes, n, n+1, 3*n)
		}
	}
	m.saves++
	snapshot.State = state(m.saves, rapid.SampledFrom(sizes).Draw(t, "size"))
	if err := m.scene.snapshots.Save(m.scene.Context(), m.pid, snapshot); err != nil {
		t.Fatalf("Save(%s): %v", snapshot, err)
	}
	m.snapshots[snapshot.SequenceNumber] = snapshot
}

// criteria draws criteria. A lower limit may be above its upper limit.
func (m *snapshotModel) criteria(t *rapid.T) Criteria {
	bounds := func(name string, lowest, highest int64) (int64, int64, bool, bool) {
		lo := rapid.Int64Range(lowest, highest).Draw(t, "min "+name)
		return lo, rapid.Int64Range(lowest, highest).Draw(t, "max "+name), rapid.Bool().Draw(t, "with min"), rapid.Bool().Draw(t, "with max")
	}
	var c Criteria
	var lo, hi int64
	var withMin, withMax bool
	if lo, hi, withMin, withMax = bounds("number", 1, modelNumbers+1); withMin {
		c.MinSequenceNumber = lo
	}
	if withMax {
		c.MaxSequenceNumber = hi
	}
	lo, hi, withMin, withMax = bounds("half ms", 0, 2*modelTimes)
	half := func(n int64) time.Time { return epoch.Add(time.Duration(n) * time.Millisecond / 2) }
	if withMin {
		c.MinTimestamp = half(lo)
	}
	if withMax {
		c.MaxTimestamp = half(hi)
	}
	return c
}

// meeting returns the snapshots that meet criteria, in descending order of numbers.
func (m *snapshotModel) meeting(c Criteria) []Snapshot {
	var found []Snapshot
	for _, seq := range slices.Backward(slices.Sorted(maps.Keys(m.snapshots))) {
		if c.meets(m.snapshots[seq]) {
			found = append(found, m.snapshots[seq])
		}
	}
	return found
}

func (m *snapshotModel) load(t *rapid.T) {
	c := m.criteria(t)
	want := selected(m.meeting(c), m.scene.suite.byTime(c))
	got, found, err := m.scene.snapshots.Load(m.scene.Context(), m.pid, c)
	switch {
	case err != nil:
		t.Fatalf("Load(%s): %v", c, err)
	case found != (want != nil):
		t.Fatalf("Load(%s) found %t %s, want %v", c, found, got, want)
	case found && !got.equal(*want):
		t.Fatalf("Load(%s) = %s, want %s", c, got, *want)
	}
}

func (m *snapshotModel) remove(t *rapid.T) {
	c := m.criteria(t)
	want := m.meeting(c)
	got, err := m.scene.snapshots.Delete(m.scene.Context(), m.pid, c)
	if err != nil {
		t.Fatalf("Delete(%s): %v", c, err)
	}
	if got != int64(len(want)) {
		t.Fatalf("Delete(%s) deleted %d, want %s", c, got, want)
	}
	for _, snapshot := range want {
		delete(m.snapshots, snapshot.SequenceNumber)
	}
}

func (m *snapshotModel) check(t *rapid.T) {
	var got []Snapshot
	for snapshot, err := range m.scene.snapshots.All(m.scene.Context(), m.pid, Criteria{}) {
		if err != nil {
			t.Fatalf("All: %v", err)
		}
		got = append(got, snapshot)
	}
	if want := m.meeting(Criteria{}); !slices.EqualFunc(got, want, Snapshot.equal) {
		t.Fatalf("All = %s, want %s", got, want)
	}
}
