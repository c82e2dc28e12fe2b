package journaltest

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// replacementCases test saving a sequence number again.
func replacementCases() []snapshotCase {
	return []snapshotCase{
		{"saving a sequence number again replaces its snapshot", replaced},
		{"a snapshot that was replaced meets no criteria", replacedMeetsNothing},
		{"a snapshot that was replaced does not come back", replacedStaysAway},
		{"saves of the same sequence number at the same time", savedAtTheSameTime},
	}
}

// forms returns sizes of states that a store may store in different forms.
func forms(s *snapshotScene, pid string) []int {
	sizes := []int{30}
	if s.suite.Border != nil {
		n := s.suite.Border(pid, snap(5, 50))
		sizes = append(sizes, n+1, 3*n)
	}
	return sizes
}

// eachReplacement saves number 5 in every form and then again in every form, with the clock
// forward, equal and backward. It stops at the first failure, because further ones would be
// similar.
func eachReplacement(s *snapshotScene, check func(pid string, older, first, second Snapshot)) {
	for i, before := range forms(s, "a-0-0-00") {
		for k, after := range forms(s, "a-0-0-00") {
			for _, ms := range []int64{60, 50, 40} {
				pid := fmt.Sprintf("a-%d-%d-%d", i, k, ms)
				older := snap(3, 30)
				first, second := Snapshot{5, at(50), state(1, before)}, Snapshot{5, at(ms), state(2, after)}
				s.save(pid, older, first, second)
				if check(pid, older, first, second); s.Failed() {
					return
				}
			}
		}
	}
}

func replaced(s *snapshotScene) {
	eachReplacement(s, func(pid string, older, _, second Snapshot) {
		s.want(pid, Criteria{}, &second)
		s.want(pid, Criteria{MaxSequenceNumber: 5}, &second)
		s.want(pid, Criteria{MaxSequenceNumber: 4}, &older)
		s.wantAll(pid, Criteria{}, second, older)
	})
}

func replacedMeetsNothing(s *snapshotScene) {
	eachReplacement(s, func(pid string, _, first, second Snapshot) {
		if !first.Timestamp.Equal(second.Timestamp) {
			s.want(pid, Criteria{MinTimestamp: first.Timestamp, MaxTimestamp: first.Timestamp}, nil)
			s.wantAll(pid, Criteria{MinTimestamp: first.Timestamp, MaxTimestamp: first.Timestamp})
			s.remove(pid, Criteria{MinTimestamp: first.Timestamp, MaxTimestamp: first.Timestamp}, 0)
		}
		s.want(pid, Criteria{MinTimestamp: second.Timestamp, MaxTimestamp: second.Timestamp}, &second)
	})
}

func replacedStaysAway(s *snapshotScene) {
	eachReplacement(s, func(pid string, older, _, second Snapshot) {
		s.remove(pid, Criteria{MinTimestamp: second.Timestamp, MaxTimestamp: second.Timestamp}, 1)
		s.want(pid, Criteria{}, &older)
		s.remove(pid, Criteria{}, 1)
		s.wantAll(pid, Criteria{})
	})
}

// savedAtTheSameTime lets several instances save the same number again while others load it. The
// loads must always find one of the saved states as a whole.
func savedAtTheSameTime(s *snapshotScene) {
	const savers, saves, loaders = 4, 4, 2
	sizes := forms(s, "a")
	for _, size := range sizes[:min(len(sizes), 2)] {
		pid := fmt.Sprintf("a-%d", size)
		saved := map[string]bool{}
		snapshotOf := func(saver, n int) Snapshot {
			return Snapshot{5, at(int64(n)),
				append(fmt.Appendf(nil, "%d/%d ", saver, n), state(uint64(saver*saves+n), size-10)...)}
		}
		for saver := range savers {
			for n := range saves {
				saved[string(snapshotOf(saver, n).State)] = true
			}
		}
		s.save(pid, snap(3, 0), snapshotOf(0, 0))
		var group, loading sync.WaitGroup
		var done atomic.Bool
		read := func(from Snapshots) {
			got, found, err := from.Load(s.Context(), pid, Criteria{})
			switch {
			case err != nil:
				s.Errorf("Load while the same number is saved: %v", err)
			case !found || !saved[string(got.State)]:
				s.Errorf("Load while number 5 is saved again found %t, %s, want one of the states saved at 5",
					found, got)
			}
		}
		for range loaders {
			from := s.store(s.T)
			loading.Go(func() {
				for !done.Load() && !s.Failed() {
					read(from)
				}
			})
		}
		for saver := range savers {
			to := s.store(s.T)
			group.Go(func() {
				for n := range saves {
					if err := to.Save(s.Context(), pid, snapshotOf(saver, n)); err != nil {
						s.Errorf("Save: %v", err)
					}
				}
			})
		}
		group.Wait()
		done.Store(true)
		loading.Wait()
		read(s.snapshots)
		if got := s.all(s.snapshots, pid, Criteria{}); len(got) != 2 {
			s.Errorf("there are %d snapshots, want 2: %s", len(got), got)
		}
	}
}
