package journaltest

import (
	"bytes"
)

// snapshotSizeCases test states of every size.
func snapshotSizeCases() []snapshotCase {
	return []snapshotCase{
		{"states of every size are loaded as they were saved", everySize},
		{"states around the border of the ordinary form", aroundTheBorder},
		{"a state over the limit is rejected, and changes nothing", overTheLimit},
		{"a state that is easy to compress", compressible},
	}
}

func everySize(s *snapshotScene) {
	const mib = 1 << 20
	s.save("a", Snapshot{1, at(0), nil})
	empty := Snapshot{1, at(0), []byte{}}
	s.want("a", Criteria{}, &empty)
	for i, size := range []int{0, 1, 2, 1000, 10_000, 100_000, mib, 5 * mib} {
		if s.suite.Largest != 0 && size > s.suite.Largest {
			break
		}
		saved := Snapshot{int64(i + 2), at(int64(i)), state(uint64(i), size)}
		s.save("a", saved)
		s.want("a", Criteria{}, &saved)
		s.remove("a", Criteria{MaxSequenceNumber: saved.SequenceNumber - 1}, 1)
		s.wantAll("a", Criteria{}, saved)
	}
}

func aroundTheBorder(s *snapshotScene) {
	if s.suite.Border == nil {
		s.Skip("the store keeps all states in the same way")
	}
	for _, pid := range []string{"a", "ünïcöde 漢字 😀", string(bytes.Repeat([]byte("long "), 100))} {
		border := s.suite.Border(pid, snap(7, 0))
		for _, size := range []int{border - 1, border, border + 1, border + 2, 2 * border, 2*border + 1} {
			saved := Snapshot{7, at(0), state(uint64(size), size)}
			s.save(pid, snap(6, 1), saved)
			s.want(pid, Criteria{MinSequenceNumber: 7}, &saved)
			s.wantAll(pid, Criteria{}, saved, snap(6, 1))
			s.remove(pid, Criteria{}, 2)
			s.want(pid, Criteria{}, nil)
		}
	}
}

func overTheLimit(s *snapshotScene) {
	if s.suite.Largest == 0 {
		s.Skip("the largest state is not to be tried")
	}
	largest := Snapshot{7, at(0), state(1, s.suite.Largest)}
	s.save("a", largest)
	s.want("a", Criteria{}, &largest)
	over := append(bytes.Clone(largest.State), 1)
	for _, seq := range []int64{6, 7, 8} {
		err := s.snapshots.Save(s.Context(), "a", Snapshot{seq, at(1), over})
		if err == nil || !s.suite.IsRejected(err) {
			s.Errorf("Save of %d bytes at %d: got error %v, want a rejection", len(over), seq, err)
		}
	}
	s.wantAll("a", Criteria{}, largest)
}

func compressible(s *snapshotScene) {
	for i, size := range []int{1, 100, 100_000} {
		if s.suite.Largest != 0 && size > s.suite.Largest {
			break
		}
		saved := Snapshot{int64(i + 1), at(0), bytes.Repeat([]byte("x"), size)}
		s.save("a", saved)
		s.want("a", Criteria{}, &saved)
	}
}
