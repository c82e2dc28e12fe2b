package journaltest

import (
	"fmt"
	"math"
	"time"
)

// selectionCases test which snapshot is loaded.
func selectionCases() []snapshotCase {
	return []snapshotCase{
		{"no snapshot of an unknown persistence id", unknownID},
		{"no snapshot where none has the sequence number", noneBySequenceNumber},
		{"no snapshot where none has the timestamp", noneByTimestamp},
		{"the most recent snapshot", mostRecent},
		{"the most recent snapshot within bounds of the sequence number", withinSequenceNumbers},
		{"the most recent snapshot within bounds of the timestamp", withinTimestamps},
		{"the most recent snapshot within bounds of both", withinBoth},
		{"no snapshot where a lower bound is above its upper bound", noneBetweenContradictoryBounds},
		{"with a clock that went backwards", clockBackwards},
		{"of snapshots of the same timestamp the one with the highest sequence number", sameTimestamp},
		{"timestamps count to the millisecond", milliseconds},
		{"the first and the last sequence number", extremeNumbers},
		{"snapshots of ids that are part of each other are not mixed", similarIDs},
		{"reading can be left, and begun again", leaveReading},
		{"wrong arguments are refused", wrongSnapshotArguments},
	}
}

// five saves five snapshots as the JVM's kit does, in ascending order of number and time.
func five(s *snapshotScene, pid string) []Snapshot {
	s.Helper()
	var saved []Snapshot
	for n := int64(1); n <= 5; n++ {
		saved = append(saved, snap(9+n, 1000+10*n))
	}
	s.save(pid, saved...)
	return saved
}

func unknownID(s *snapshotScene) {
	five(s, "a")
	s.want("unknown", Criteria{}, nil)
	s.wantAll("unknown", Criteria{})
	s.remove("unknown", Criteria{}, 0)
}

func noneBySequenceNumber(s *snapshotScene) {
	five(s, "a")
	s.want("a", Criteria{MaxSequenceNumber: 9}, nil)
	s.want("a", Criteria{MinSequenceNumber: 15}, nil)
	s.want("a", Criteria{MinSequenceNumber: math.MaxInt64}, nil)
	s.wantAll("a", Criteria{MinSequenceNumber: 1, MaxSequenceNumber: 9})
}

func noneByTimestamp(s *snapshotScene) {
	five(s, "a")
	s.want("a", Criteria{MaxTimestamp: at(1009)}, nil)
	s.want("a", Criteria{MinTimestamp: at(1051)}, nil)
	s.want("a", Criteria{MinTimestamp: at(1021), MaxTimestamp: at(1029)}, nil)
	s.want("a", Criteria{MinTimestamp: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil)
	s.want("a", Criteria{MaxTimestamp: time.UnixMilli(-1)}, nil)
}

func mostRecent(s *snapshotScene) {
	saved := five(s, "a")
	s.want("a", Criteria{}, &saved[4])
	s.wantAll("a", Criteria{}, saved[4], saved[3], saved[2], saved[1], saved[0])
}

func withinSequenceNumbers(s *snapshotScene) {
	saved := five(s, "a")
	s.want("a", Criteria{MaxSequenceNumber: 13}, &saved[3])
	s.want("a", Criteria{MaxSequenceNumber: 12}, &saved[2])
	s.want("a", Criteria{MinSequenceNumber: 13}, &saved[4])
	s.want("a", Criteria{MinSequenceNumber: 11, MaxSequenceNumber: 11}, &saved[1])
	s.want("a", Criteria{MaxSequenceNumber: math.MaxInt64}, &saved[4])
	s.wantAll("a", Criteria{MinSequenceNumber: 11, MaxSequenceNumber: 13}, saved[3], saved[2], saved[1])
}

func withinTimestamps(s *snapshotScene) {
	saved := five(s, "a")
	s.want("a", Criteria{MaxTimestamp: at(1030)}, &saved[2])
	s.want("a", Criteria{MaxTimestamp: at(1039)}, &saved[2])
	s.want("a", Criteria{MinTimestamp: at(1030)}, &saved[4])
	s.want("a", Criteria{MinTimestamp: at(1020), MaxTimestamp: at(1020)}, &saved[1])
	s.wantAll("a", Criteria{MinTimestamp: at(1011), MaxTimestamp: at(1040)}, saved[3], saved[2], saved[1])
}

func withinBoth(s *snapshotScene) {
	saved := five(s, "a")
	s.want("a", Criteria{MaxSequenceNumber: 13, MaxTimestamp: at(1030)}, &saved[2])
	s.want("a", Criteria{MaxSequenceNumber: 12, MaxTimestamp: at(1040)}, &saved[2])
	s.want("a", Criteria{MinSequenceNumber: 12, MaxTimestamp: at(1020)}, nil)
	s.want("a", Criteria{MaxSequenceNumber: 11, MinTimestamp: at(1030)}, nil)
	s.want("a", Criteria{1, 13, at(1010), at(1020)}, &saved[1])
	s.wantAll("a", Criteria{11, 14, at(1010), at(1040)}, saved[3], saved[2], saved[1])
}

func noneBetweenContradictoryBounds(s *snapshotScene) {
	saved := five(s, "a")
	for _, c := range []Criteria{
		{MinSequenceNumber: 12, MaxSequenceNumber: 11},
		{MinSequenceNumber: math.MaxInt64, MaxSequenceNumber: 1},
		{MinTimestamp: at(1030), MaxTimestamp: at(1029)},
		{MinTimestamp: at(1030), MaxTimestamp: time.UnixMilli(-1)},
		{12, 11, at(1030), at(1029)},
		{1, 100, at(1030), at(1029)},
		{12, 11, at(0), at(2000)},
	} {
		s.want("a", c, nil)
		s.wantAll("a", c)
		s.remove("a", c, 0)
	}
	s.wantAll("a", Criteria{}, saved[4], saved[3], saved[2], saved[1], saved[0])
}

// clockBackwards saves snapshots with ascending numbers and descending timestamps.
func clockBackwards(s *snapshotScene) {
	falling := []Snapshot{snap(1, 50), snap(2, 40), snap(3, 30), snap(4, 45), snap(5, 20)}
	s.save("a", falling...)
	byNumber, byTime := &falling[4], &falling[0]
	pick := func(c Criteria, number, time int) {
		s.Helper()
		if s.suite.byTime(c) {
			number = time
		}
		s.want("a", c, &falling[number-1])
	}
	if s.suite.NewestByTimestamp {
		byNumber = byTime
	}
	s.want("a", Criteria{}, byNumber)
	pick(Criteria{MaxSequenceNumber: 4}, 4, 1)
	pick(Criteria{MinSequenceNumber: 2}, 5, 4)
	pick(Criteria{MaxTimestamp: at(49)}, 5, 4)
	pick(Criteria{MinTimestamp: at(30)}, 4, 1)
	pick(Criteria{MaxSequenceNumber: 3, MaxTimestamp: at(45)}, 3, 2)
	pick(Criteria{2, 4, at(31), at(44)}, 2, 2)
	s.wantAll("a", Criteria{MinTimestamp: at(40)}, falling[3], falling[1], falling[0])
	s.remove("a", Criteria{MaxSequenceNumber: 4, MinTimestamp: at(40)}, 3)
	s.wantAll("a", Criteria{}, falling[4], falling[2])
}

func sameTimestamp(s *snapshotScene) {
	s.save("a", snap(3, 7), snap(1, 7), snap(2, 7))
	want := snap(3, 7)
	s.want("a", Criteria{}, &want)
	s.want("a", Criteria{MinTimestamp: at(7), MaxTimestamp: at(7)}, &want)
	want = snap(2, 7)
	s.want("a", Criteria{MaxSequenceNumber: 2, MinTimestamp: at(7)}, &want)
}

// milliseconds has limits between two milliseconds. A limit is used exactly. A saved timestamp is
// truncated to the millisecond.
func milliseconds(s *snapshotScene) {
	saved := snap(1, 5)
	withMore := saved
	withMore.Timestamp = saved.Timestamp.Add(999 * time.Microsecond)
	s.save("a", withMore)
	s.want("a", Criteria{}, &saved)
	s.want("a", Criteria{MinTimestamp: saved.Timestamp, MaxTimestamp: saved.Timestamp}, &saved)
	s.want("a", Criteria{MaxTimestamp: saved.Timestamp.Add(time.Microsecond)}, &saved)
	s.want("a", Criteria{MaxTimestamp: saved.Timestamp.Add(-time.Microsecond)}, nil)
	s.want("a", Criteria{MinTimestamp: saved.Timestamp.Add(-time.Microsecond)}, &saved)
	s.want("a", Criteria{MinTimestamp: saved.Timestamp.Add(time.Microsecond)}, nil)
	s.want("a", Criteria{MinTimestamp: saved.Timestamp.Add(time.Microsecond),
		MaxTimestamp: saved.Timestamp.Add(2 * time.Microsecond)}, nil)

	early := Snapshot{2, time.Date(1960, 2, 29, 1, 2, 3, 4_000_000, time.UTC), []byte("before 1970")}
	s.save("a", early)
	s.want("a", Criteria{MaxTimestamp: early.Timestamp}, &early)
	s.want("a", Criteria{MaxTimestamp: early.Timestamp.Add(-time.Microsecond)}, nil)
	s.wantAll("a", Criteria{MaxTimestamp: epoch}, early)
}

func extremeNumbers(s *snapshotScene) {
	first, last := snap(1, 1), snap(math.MaxInt64-1, 2)
	s.save("a", first, last)
	s.want("a", Criteria{}, &last)
	s.want("a", Criteria{MaxSequenceNumber: math.MaxInt64 - 2}, &first)
	s.want("a", Criteria{MinSequenceNumber: math.MaxInt64 - 1}, &last)
	s.wantAll("a", Criteria{}, last, first)
	s.remove("a", Criteria{MinSequenceNumber: 2}, 1)
	s.remove("a", Criteria{}, 1)
	s.want("a", Criteria{}, nil)
}

func similarIDs(s *snapshotScene) {
	ids := []string{"a", "a-", "a-1", "-a", "a-P-a", "P-a", "a-0", "a\u0000", "ä", "漢字 😀", "A"}
	for i, pid := range ids {
		s.save(pid, snap(int64(i+1), 10), snap(int64(i+2), 11))
	}
	for i, pid := range ids {
		s.wantAll(pid, Criteria{}, snap(int64(i+2), 11), snap(int64(i+1), 10))
		s.remove(pid, Criteria{MaxTimestamp: at(10)}, 1)
	}
	for i, pid := range ids {
		s.wantAll(pid, Criteria{}, snap(int64(i+2), 11))
	}
}

func leaveReading(s *snapshotScene) {
	saved := five(s, "a")
	for left := 1; left <= 5; left++ {
		var got []Snapshot
		for snapshot, err := range s.snapshots.All(s.Context(), "a", Criteria{}) {
			if err != nil {
				s.Fatalf("All: %v", err)
			}
			if got = append(got, snapshot); len(got) == left {
				break
			}
		}
		if last := got[len(got)-1]; len(got) != left || !last.equal(saved[5-left]) {
			s.Errorf("the %d first were %s, want them down to %s", left, got, saved[5-left])
		}
	}
	sequence := s.snapshots.All(s.Context(), "a", Criteria{})
	for range 2 {
		n := 0
		for _, err := range sequence {
			if err != nil {
				s.Fatalf("All: %v", err)
			}
			n++
		}
		if n != 5 {
			s.Errorf("an iterator that is used again gives %d snapshots, want 5", n)
		}
	}
}

func wrongSnapshotArguments(s *snapshotScene) {
	five(s, "a")
	refused := func(what string, err error) {
		s.Helper()
		if err == nil || !s.suite.IsInvalid(err) {
			s.Errorf("%s: got error %v, want an error of invalid arguments", what, err)
		}
	}
	for _, c := range []Criteria{
		{MinSequenceNumber: -1},
		{MaxSequenceNumber: -1},
		{MinSequenceNumber: math.MinInt64, MaxSequenceNumber: math.MinInt64},
	} {
		_, _, err := s.snapshots.Load(s.Context(), "a", c)
		refused(fmt.Sprintf("Load(%s)", c), err)
		_, err = s.snapshots.Delete(s.Context(), "a", c)
		refused(fmt.Sprintf("Delete(%s)", c), err)
		err = nil
		for _, e := range s.snapshots.All(s.Context(), "a", c) {
			err = e
		}
		refused(fmt.Sprintf("All(%s)", c), err)
	}
	for _, seq := range []int64{0, -1, math.MinInt64, math.MaxInt64} {
		refused(fmt.Sprintf("Save at %d", seq), s.snapshots.Save(s.Context(), "a", Snapshot{seq, epoch, nil}))
	}
	for _, pid := range []string{"", "\xff"} {
		refused(fmt.Sprintf("Save of id %q", pid), s.snapshots.Save(s.Context(), pid, snap(1, 1)))
		_, _, err := s.snapshots.Load(s.Context(), pid, Criteria{})
		refused(fmt.Sprintf("Load of id %q", pid), err)
		_, err = s.snapshots.Delete(s.Context(), pid, Criteria{})
		refused(fmt.Sprintf("Delete of id %q", pid), err)
	}
	if got := s.all(s.snapshots, "a", Criteria{}); len(got) != 5 {
		s.Errorf("after calls with invalid arguments there are %d snapshots, want 5", len(got))
	}
}
