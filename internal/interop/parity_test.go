//go:build interop

package interop_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// step is one step of an entity: one of its fields is set.
type step struct {
	singles, batch int
	deleteTo       int64
	// lose deletes items, bypassing both journals. Both sides recover afterwards.
	lose []int64
}

// entityPair has two entities with the same life: one was used by Go, the other by the JVM.
type entityPair struct {
	byGo, byJVM string
	highest     int64
}

// raise runs the same life with two entities.
func (s *service) raise(tb testing.TB, j *dynajournal.Journal, life ...step) entityPair {
	tb.Helper()
	pair := entityPair{byGo: newPID(tb), byJVM: newPID(tb)}
	inGo := recoverGo(tb, j, pair.byGo, 0)
	s.startJVM(tb, pair.byJVM)
	for _, do := range life {
		if n := do.singles + do.batch; n > 0 {
			values := texts(fmt.Sprintf("event-%d", pair.highest), n)
			inGo.appendAll(tb, do.batch > 0, values...)
			s.persistJVM(tb, pair.byJVM, do.batch > 0, values...)
			pair.highest += int64(n)
		}
		if do.deleteTo > 0 {
			if _, err := inGo.DeleteTo(tb.Context(), do.deleteTo); err != nil {
				tb.Fatalf("delete in Go: %v", err)
			}
			s.jvm.do(tb, request{Op: "deleteTo", PID: pair.byJVM, To: &do.deleteTo})
		}
		if len(do.lose) > 0 {
			s.lose(tb, pair.byGo, do.lose...)
			s.lose(tb, pair.byJVM, do.lose...)
			inGo = recoverGo(tb, j, pair.byGo, 0)
			s.stopJVM(tb, pair.byJVM)
			s.startJVM(tb, pair.byJVM)
		}
	}
	s.stopJVM(tb, pair.byJVM)
	return pair
}

// checkParity reads both entities from both sides, in all the windows.
func (s *service) checkParity(t *testing.T, j *dynajournal.Journal, pair entityPair, windows []window) {
	t.Helper()
	for _, w := range windows {
		ask := request{Op: "replay", PID: pair.byGo, From: &w.from, To: &w.to, Max: w.max}
		got := s.jvm.ask(t, ask)
		ask.PID = pair.byJVM
		want := s.jvm.ask(t, ask)
		if got.Failure != "" || want.Failure != "" {
			if got.Failure == "" || want.Failure == "" {
				t.Errorf("%v: the JVM fails with %q on Go's entity, with %q on its own", w, got.Failure, want.Failure)
			}
			continue
		}
		if got.Highest != want.Highest {
			t.Errorf("%v: the JVM finds the highest number %d of Go's entity, %d of its own",
				w, got.Highest, want.Highest)
		}
		checkSeen(t, fmt.Sprintf("%v: of Go's entity the JVM", w), seenJVM(got), seenJVM(want))
		inGo := dynajournal.Range{From: w.from, To: w.to, Limit: w.max}
		checkSeen(t, fmt.Sprintf("%v: of the JVM's entity Go",
			w), readGo(t, j, pair.byJVM, inGo), readGo(t, j, pair.byGo, inGo))
	}
	var bounds [2]dynajournal.Bounds
	for i, pid := range []string{pair.byGo, pair.byJVM} {
		var err error
		if bounds[i], err = j.Bounds(t.Context(), pid); err != nil {
			t.Fatal(err)
		}
	}
	if bounds[0] != bounds[1] || bounds[0].Highest != pair.highest {
		t.Errorf("Go finds %+v of its own entity, %+v of the JVM's, want the highest number %d",
			bounds[0], bounds[1], pair.highest)
	}
}

// window is a part of an entity's events.
type window struct {
	from, to int64
	max      *int64
}

func (w window) String() string {
	if w.max == nil {
		return fmt.Sprintf("window %d..%d", w.from, w.to)
	}
	return fmt.Sprintf("window %d..%d, %d events", w.from, w.to, *w.max)
}

// everything is the window of a recovery.
var everything = window{1, 1 << 62, nil}

// allWindows returns all windows that begin and end at the given numbers.
func allWindows(numbers ...int64) []window {
	windows := []window{everything}
	for _, from := range numbers {
		for _, to := range numbers {
			windows = append(windows, window{from, to, nil})
		}
	}
	return windows
}

// someWindows returns random windows from 1 to the highest number and a little more, some with a
// limit of events.
func someWindows(random *rand.Rand, highest int64, n int, limited bool) []window {
	windows := []window{everything}
	for range n {
		w := window{from: random.Int64N(highest+3) + 1, to: random.Int64N(highest+3) + 1}
		if limited && random.IntN(3) == 0 {
			w.max = new(random.Int64N(highest + 2))
		}
		windows = append(windows, w)
	}
	return windows
}

func TestTwinsOfOneKindOfWriteInEveryWindow(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, test := range map[string]struct {
		life    []step
		windows []window
	}{
		"singles to the end of a block":       {[]step{{singles: 99}}, allWindows(1, 2, 98, 99, 100)},
		"singles to the beginning of a block": {[]step{{singles: 100}}, allWindows(98, 99, 100, 101)},
		"singles over two boundaries":         {[]step{{singles: 205}}, allWindows(1, 99, 100, 101, 199, 200, 201, 205)},
		"an atomic write to 99":               {[]step{{singles: 95}, {batch: 4}, {singles: 3}}, allWindows(94, 95, 96, 99, 100, 102)},
		"an atomic write over 99 and 100":     {[]step{{singles: 97}, {batch: 6}, {singles: 2}}, allWindows(97, 98, 99, 100, 103, 104)},
		"an atomic write from 100 on":         {[]step{{singles: 99}, {batch: 4}}, allWindows(98, 99, 100, 101, 103)},
		"an atomic write from 101 on":         {[]step{{singles: 100}, {batch: 4}}, allWindows(99, 100, 101, 104)},
		"an atomic write of 26":               {[]step{{batch: 26}, {singles: 1}}, allWindows(1, 2, 25, 26, 27)},
		"an atomic write over two boundaries": {[]step{{singles: 95}, {batch: 120}, {singles: 1}}, allWindows(95, 96, 99, 100, 200, 215, 216)},
		"atomic writes of one":                {[]step{{batch: 1}, {batch: 1}, {singles: 1}}, allWindows(1, 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			pair := s.raise(t, j, test.life...)
			s.checkParity(t, j, pair, test.windows)
			checkSameItems(t, s, pair.byGo, pair.byJVM)
		})
	}
}

func TestTwinsWithDeletedEvents(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, test := range map[string]struct {
		life    []step
		windows []window
	}{
		"the beginning":                   {[]step{{singles: 10}, {deleteTo: 4}, {singles: 2}}, allWindows(1, 4, 5, 12)},
		"to the end of a block":           {[]step{{singles: 120}, {deleteTo: 99}}, allWindows(1, 99, 100, 101, 120)},
		"to the beginning of a block":     {[]step{{singles: 120}, {deleteTo: 100}}, allWindows(1, 99, 100, 101, 120)},
		"over a block, in two steps":      {[]step{{singles: 205}, {deleteTo: 50}, {deleteTo: 150}, {singles: 1}}, allWindows(1, 150, 151, 199, 200, 206)},
		"everything":                      {[]step{{singles: 12}, {deleteTo: 12}}, allWindows(1, 12, 13)},
		"everything, then one more":       {[]step{{singles: 12}, {deleteTo: 12}, {singles: 1}}, allWindows(1, 12, 13)},
		"everything of a full block":      {[]step{{singles: 99}, {deleteTo: 99}}, allWindows(1, 99, 100)},
		"all of a full block, then more":  {[]step{{singles: 99}, {deleteTo: 99}, {singles: 2}}, allWindows(1, 99, 100, 101)},
		"the first part of a write":       {[]step{{singles: 2}, {batch: 5}, {singles: 1}, {deleteTo: 4}}, allWindows(1, 4, 5, 7, 8)},
		"a cut write over the boundary":   {[]step{{singles: 97}, {batch: 6}, {singles: 1}, {deleteTo: 99}}, allWindows(97, 99, 100, 103, 104)},
		"a write cut twice":               {[]step{{batch: 9}, {deleteTo: 3}, {deleteTo: 6}, {singles: 2}}, allWindows(1, 6, 7, 9, 11)},
		"a cut write, and then one more":  {[]step{{batch: 4}, {batch: 4}, {deleteTo: 2}, {batch: 3}}, allWindows(1, 3, 4, 5, 8, 9, 11)},
		"the last member of a write left": {[]step{{batch: 4}, {deleteTo: 3}, {singles: 1}}, allWindows(1, 3, 4, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			s.checkParity(t, j, s.raise(t, j, test.life...), test.windows)
		})
	}
}

func TestTwinsWithSealsAndHoles(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, test := range map[string]struct {
		life    []step
		windows []window
	}{
		"a single":                      {[]step{{singles: 5}, {lose: []int64{3}}, {singles: 2}}, allWindows(1, 2, 3, 4, 7)},
		"the first":                     {[]step{{singles: 5}, {lose: []int64{1}}, {singles: 2}}, allWindows(1, 2, 7)},
		"several":                       {[]step{{singles: 8}, {lose: []int64{2, 3, 6}}, {batch: 3}}, allWindows(1, 3, 4, 6, 7, 11)},
		"before a write":                {[]step{{singles: 3}, {batch: 3}, {lose: []int64{3}}, {singles: 1}}, allWindows(2, 3, 4, 6, 7)},
		"after a write":                 {[]step{{batch: 3}, {singles: 3}, {lose: []int64{4}}, {singles: 1}}, allWindows(1, 3, 4, 5, 7)},
		"the first member of a write":   {[]step{{singles: 2}, {batch: 4}, {singles: 2}, {lose: []int64{3}}}, allWindows(2, 3, 4, 6, 7)},
		"a member of a write":           {[]step{{singles: 2}, {batch: 4}, {singles: 2}, {lose: []int64{4}}}, allWindows(2, 3, 4, 6, 7)},
		"the last member of a write":    {[]step{{singles: 2}, {batch: 4}, {singles: 2}, {lose: []int64{6}}}, allWindows(2, 3, 4, 6, 7)},
		"between two writes":            {[]step{{batch: 3}, {singles: 1}, {batch: 3}, {lose: []int64{4}}}, allWindows(1, 3, 4, 5, 7)},
		"a write between two others":    {[]step{{batch: 3}, {batch: 3}, {batch: 3}, {lose: []int64{4, 6}}}, allWindows(1, 3, 4, 7, 9)},
		"the end of a block":            {[]step{{singles: 104}, {lose: []int64{99}}, {singles: 1}}, allWindows(98, 99, 100, 105)},
		"the beginning of a block":      {[]step{{singles: 104}, {lose: []int64{100}}, {singles: 1}}, allWindows(98, 99, 100, 101, 105)},
		"both sides of the boundary":    {[]step{{singles: 97}, {batch: 6}, {singles: 2}, {lose: []int64{99, 100}}}, allWindows(97, 98, 99, 101, 105)},
		"a write that begins a block":   {[]step{{singles: 99}, {batch: 3}, {singles: 1}, {lose: []int64{101}}}, allWindows(98, 99, 100, 103)},
		"and deleted after it":          {[]step{{singles: 9}, {lose: []int64{4}}, {singles: 1}, {deleteTo: 6}}, allWindows(1, 4, 6, 7, 10)},
		"and deleted up to right there": {[]step{{singles: 9}, {lose: []int64{4}}, {singles: 1}, {deleteTo: 4}}, allWindows(1, 4, 5, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			s.checkParity(t, j, s.raise(t, j, test.life...), test.windows)
		})
	}
}

func TestTwinsWithARandomHistory(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's
			deletes := seed%2 == 0
			pair := s.raise(t, j, randomLife(random, deletes)...)
			// A limit counts seals in the JVM, see TestSealsCountTowardsAJVMsLimit.
			s.checkParity(t, j, pair, someWindows(random, pair.highest, 40, deletes))
		})
	}
}

func TestSealsCountTowardsAJVMsLimit(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	pair := s.raise(t, j, step{singles: 5}, step{lose: []int64{3}})
	limit := int64(3)
	for pid, want := range map[string][]int64{pair.byGo: {1, 2}, pair.byJVM: {1, 2, 4}} {
		got := numbersOf(seenJVM(s.jvm.do(t, request{Op: "replay", PID: pid, Max: &limit})))
		if !slices.Equal(got, want) {
			t.Errorf("of %s the JVM replays %v, want %v", pid, got, want)
		}
		got = numbersOf(readGo(t, j, pid, dynajournal.Range{Limit: &limit}))
		if want := []int64{1, 2, 4}; !slices.Equal(got, want) {
			t.Errorf("of %s Go reads %v, want %v", pid, got, want)
		}
	}
}

func numbersOf(events []seen) []int64 {
	numbers := make([]int64, len(events))
	for i, e := range events {
		numbers[i] = e.seq
	}
	return numbers
}

// randomLife returns random writes, and either deletions or losses of events. It does not combine
// both: if an atomic write has lost a member and is cut by a deletion, its rest counts with the
// JVM's low mark, but not with Go's.
func randomLife(random *rand.Rand, deletes bool) []step {
	var life []step
	highest := int64(0)
	for range 4 + random.IntN(5) {
		if n := random.IntN(70) + 1; random.IntN(2) == 0 {
			life = append(life, step{singles: n})
			highest += int64(n)
		} else {
			life = append(life, step{batch: n})
			highest += int64(n)
		}
		switch {
		case random.IntN(3) > 0 || highest < 2:
		case deletes:
			life = append(life, step{deleteTo: random.Int64N(highest) + 1})
		default:
			life = append(life, step{lose: []int64{random.Int64N(highest-1) + 1}})
		}
	}
	return life
}

func TestEntityWrittenByBothSidesInTurns(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
			pid := newPID(t)
			var live []seen
			// Deletions end where a write ends: if they cut a write, only Go sees the rest.
			ends := []int64{}
			highest := int64(0)
			for turn := range 8 {
				values := texts(fmt.Sprintf("turn-%d", turn), random.IntN(60)+1)
				atomically := random.IntN(2) == 0
				live = append(live, numbered(t, highest+1, values...)...)
				highest += int64(len(values))
				ends = append(ends, highest)
				deleteTo := int64(0)
				if random.IntN(2) == 0 {
					deleteTo = ends[random.IntN(len(ends))]
					live = slices.DeleteFunc(live, func(e seen) bool { return e.seq <= deleteTo })
				}
				if random.IntN(2) == 0 {
					inGo := recoverGo(t, j, pid, 0)
					inGo.appendAll(t, atomically, values...)
					if _, err := inGo.DeleteTo(t.Context(), deleteTo); err != nil {
						t.Fatalf("delete in Go: %v", err)
					}
				} else {
					s.startJVM(t, pid)
					s.persistJVM(t, pid, atomically, values...)
					if deleteTo > 0 {
						s.jvm.do(t, request{Op: "deleteTo", PID: pid, To: &deleteTo})
					}
					s.stopJVM(t, pid)
				}
				checkSeen(t, fmt.Sprintf("after turn %d Go", turn), readGo(t, j, pid, dynajournal.Range{}), live)
				replayed := s.replayJVM(t, pid)
				checkSeen(t, fmt.Sprintf("after turn %d the JVM", turn), seenJVM(replayed), live)
				if replayed.Highest != highest {
					t.Fatalf("after turn %d the JVM finds the highest number %d, want %d",
						turn, replayed.Highest, highest)
				}
			}
		})
	}
}

func TestEntity_ContinuesAfterTheOtherSide(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t), newPID(t)
	var all []seen
	grow := func(values ...any) {
		all = append(all, numbered(t, int64(len(all))+1, values...)...)
	}
	for round := range 3 {
		started := s.startJVM(t, pid)
		checkSeen(t, "the JVM, taking over,", seenJVM(started), all)
		if started.Last != int64(len(all)) {
			t.Fatalf("round %d: the JVM continues after %d, want %d", round, started.Last, len(all))
		}
		values := texts(fmt.Sprintf("jvm-%d", round), 45)
		s.persistJVM(t, pid, false, values[:30]...)
		s.persistJVM(t, pid, true, values[30:]...)
		s.stopJVM(t, pid)
		grow(values...)

		inGo := recoverGo(t, j, pid, 0)
		checkSeen(t, "Go, taking over,", inGo.events, all)
		values = texts(fmt.Sprintf("go-%d", round), 27)
		inGo.appendAll(t, true, values[:20]...)
		inGo.appendAll(t, false, values[20:]...)
		grow(values...)
	}
	checkSeen(t, "Go, at the end,", readGo(t, j, pid, dynajournal.Range{}), all)
	ids, err := j.List(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{100, 200}; !reflect.DeepEqual(ids.HighMarks, want) {
		t.Errorf("the high marks are %v, want %v", ids.HighMarks, want)
	}
}
