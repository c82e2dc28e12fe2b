package journaltest

// snapshotDeletionCases test which snapshots are deleted.
func snapshotDeletionCases() []snapshotCase {
	return []snapshotCase{
		{"deletion of a single snapshot", deleteSingle},
		{"deletion of all snapshots within bounds", deleteWithinBounds},
		{"deletion leaves a snapshot of another timestamp", deleteOtherTimestamp},
		{"deletion of all, and saving again", deleteAll},
		{"five hundred snapshots", fiveHundred},
	}
}

func deleteSingle(s *snapshotScene) {
	saved := five(s, "a")
	s.remove("a", Criteria{MinSequenceNumber: 12, MaxSequenceNumber: 12}, 1)
	s.want("a", Criteria{MaxSequenceNumber: 12}, &saved[1])
	s.remove("a", Criteria{MinSequenceNumber: 12, MaxSequenceNumber: 12}, 0)
	s.wantAll("a", Criteria{}, saved[4], saved[3], saved[1], saved[0])
}

func deleteWithinBounds(s *snapshotScene) {
	saved := five(s, "a")
	s.remove("a", Criteria{MaxSequenceNumber: 12, MaxTimestamp: at(1030)}, 3)
	s.want("a", Criteria{MaxSequenceNumber: 12}, nil)
	s.want("a", Criteria{MaxSequenceNumber: 13}, &saved[3])
	s.wantAll("a", Criteria{}, saved[4], saved[3])
	s.remove("a", Criteria{MinTimestamp: at(1050)}, 1)
	s.wantAll("a", Criteria{}, saved[3])
}

func deleteOtherTimestamp(s *snapshotScene) {
	saved := five(s, "a")
	s.remove("a", Criteria{MinSequenceNumber: 12, MaxSequenceNumber: 12, MaxTimestamp: at(1029)}, 0)
	s.remove("a", Criteria{MinSequenceNumber: 12, MaxSequenceNumber: 12, MinTimestamp: at(1031)}, 0)
	s.want("a", Criteria{MaxSequenceNumber: 12}, &saved[2])
	s.remove("a", Criteria{12, 12, at(1030), at(1030)}, 1)
	s.want("a", Criteria{MaxSequenceNumber: 12}, &saved[1])
}

func deleteAll(s *snapshotScene) {
	five(s, "a")
	other := five(s, "b")
	s.remove("a", Criteria{}, 5)
	s.want("a", Criteria{}, nil)
	s.wantAll("a", Criteria{})
	again := snap(11, 1)
	s.save("a", again)
	s.wantAll("a", Criteria{}, again)
	s.want("b", Criteria{}, &other[4])
}

// fiveHundred deletes from several pages: 500 snapshots of 10 KB, saved with a clock that jumps.
func fiveHundred(s *snapshotScene) {
	const count, size = 500, 10_000
	ms := func(seq int64) int64 { return seq * 37 % count }
	saved := make([]Snapshot, count+1)
	for seq := int64(1); seq <= count; seq++ {
		saved[seq] = Snapshot{seq, at(ms(seq)), state(uint64(seq), size)}
		s.save("a", saved[seq])
	}
	meeting := func(meets func(Snapshot) bool) []Snapshot {
		var found []Snapshot
		for seq := count; seq >= 1; seq-- {
			if meets(saved[seq]) {
				found = append(found, saved[seq])
			}
		}
		return found
	}
	check := func(c Criteria) {
		s.Helper()
		found := meeting(c.meets)
		s.wantAll("a", c, found...)
		s.want("a", c, selected(found, s.suite.byTime(c)))
	}
	check(Criteria{})
	for n := int64(1); n < count; n += 231 {
		check(Criteria{MaxSequenceNumber: n})
		check(Criteria{MaxTimestamp: at(ms(n)), MinTimestamp: at(ms(n))})
		check(Criteria{MaxSequenceNumber: n, MinTimestamp: at(n)})
	}
	check(Criteria{MaxTimestamp: at(0)}) // only snapshot 500 meets it
	deleted := Criteria{MinSequenceNumber: 3, MinTimestamp: at(5), MaxTimestamp: at(495)}
	s.remove("a", deleted, int64(len(meeting(deleted.meets))))
	s.wantAll("a", Criteria{}, meeting(func(snapshot Snapshot) bool { return !deleted.meets(snapshot) })...)
}

// meets reports whether a snapshot meets the criteria.
func (c Criteria) meets(s Snapshot) bool {
	return s.SequenceNumber >= c.MinSequenceNumber &&
		(c.MaxSequenceNumber == 0 || s.SequenceNumber <= c.MaxSequenceNumber) &&
		(c.MinTimestamp.IsZero() || !s.Timestamp.Before(c.MinTimestamp)) &&
		(c.MaxTimestamp.IsZero() || !s.Timestamp.After(c.MaxTimestamp))
}

// selected returns which of the found snapshots Load must return, or nil. found is in descending
// order of numbers.
func selected(found []Snapshot, newest bool) *Snapshot {
	var best *Snapshot
	for i := range found {
		if best == nil || newest && found[i].Timestamp.After(best.Timestamp) {
			best = &found[i]
		}
	}
	return best
}
