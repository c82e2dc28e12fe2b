package journaltest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// snapshotScene is the state of a case: an empty store, and a first instance of it.
type snapshotScene struct {
	*testing.T

	suite     *SnapshotSuite
	store     SnapshotStore
	snapshots Snapshots
}

// state returns an incompressible state of n bytes, different for each seed.
func state(seed uint64, n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	data := make([]byte, n)
	_, _ = source.Read(data) // never fails
	return data
}

// snap returns the suite's snapshot at a number, saved ms milliseconds after the epoch.
func snap(seq, ms int64) Snapshot {
	return Snapshot{seq, at(ms), fmt.Appendf(nil, "state %d of %d", seq, ms)}
}

func (s *snapshotScene) save(pid string, snapshots ...Snapshot) {
	s.Helper()
	for _, snapshot := range snapshots {
		if err := s.snapshots.Save(s.Context(), pid, snapshot); err != nil {
			s.Fatalf("Save(%s, %s): %v", name(pid), snapshot, err)
		}
	}
}

// want checks which snapshot the criteria select; nil means none.
func (s *snapshotScene) want(pid string, c Criteria, want *Snapshot) {
	s.Helper()
	got, found, err := s.snapshots.Load(s.Context(), pid, c)
	switch {
	case err != nil:
		s.Fatalf("Load(%s, %s): %v", name(pid), c, err)
	case want == nil && found:
		s.Errorf("Load(%s, %s) = %s, want none", name(pid), c, got)
	case want != nil && !found:
		s.Errorf("Load(%s, %s) found none, want %s", name(pid), c, *want)
	case want != nil && !got.equal(*want):
		s.Errorf("Load(%s, %s) = %s, want %s", name(pid), c, got, *want)
	}
}

// wantAll checks which snapshots meet the criteria, in descending order of numbers.
func (s *snapshotScene) wantAll(pid string, c Criteria, want ...Snapshot) {
	s.Helper()
	got := s.all(s.snapshots, pid, c)
	if !slices.EqualFunc(got, want, Snapshot.equal) {
		s.Errorf("All(%s, %s) = %s, want %s", name(pid), c, got, want)
	}
}

func (s *snapshotScene) all(from Snapshots, pid string, c Criteria) []Snapshot {
	s.Helper()
	var all []Snapshot
	for snapshot, err := range from.All(s.Context(), pid, c) {
		if err != nil {
			s.Fatalf("All(%s, %s): after %d snapshots: %v", name(pid), c, len(all), err)
		}
		all = append(all, snapshot)
	}
	return all
}

// remove deletes the snapshots that meet the criteria, and checks their number.
func (s *snapshotScene) remove(pid string, c Criteria, want int64) {
	s.Helper()
	got, err := s.snapshots.Delete(s.Context(), pid, c)
	if err != nil {
		s.Fatalf("Delete(%s, %s): %v", name(pid), c, err)
	}
	if got != want {
		s.Errorf("Delete(%s, %s) deleted %d, want %d", name(pid), c, got, want)
	}
}

func (s Snapshot) equal(other Snapshot) bool {
	return s.SequenceNumber == other.SequenceNumber && s.Timestamp.Equal(other.Timestamp) &&
		bytes.Equal(s.State, other.State)
}

// String formats the snapshot, with its time in milliseconds after the suite's epoch.
func (s Snapshot) String() string {
	text := fmt.Sprintf("%d at %d ms", s.SequenceNumber, s.Timestamp.Sub(epoch).Milliseconds())
	const most = 30
	if len(s.State) > most {
		return text + fmt.Sprintf(" (%d bytes, %x…)", len(s.State), s.State[:4])
	}
	return text + fmt.Sprintf(" (%q)", s.State)
}

// String formats the criteria, with times in milliseconds after the suite's epoch.
func (c Criteria) String() string {
	text := fmt.Sprintf("numbers %d..%d", c.MinSequenceNumber, c.MaxSequenceNumber)
	if !c.MinTimestamp.IsZero() {
		text += fmt.Sprintf(" from %v", c.MinTimestamp.Sub(epoch))
	}
	if !c.MaxTimestamp.IsZero() {
		text += fmt.Sprintf(" to %v", c.MaxTimestamp.Sub(epoch))
	}
	return text
}
