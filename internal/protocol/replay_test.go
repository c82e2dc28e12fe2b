package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// TestReplay_EachPartitionReadOnce reads many partitions of small events, each by one query.
func TestReplay_EachPartitionReadOnce(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		s := newScene(t, 3)
		s.singles(1, 750)
		s.put(s.keys.EncodeHighMark(pid, 700))
		s.want(protocol.Request{Recover: recover}, "1-750", 750)
		queries := s.queries()
		for p := range 8 {
			if queries[p] != 1 {
				t.Errorf("recovering %v: partition %d was read %d times", recover, p, queries[p])
			}
		}
		if len(queries) != 8 {
			t.Errorf("recovering %v: the partitions read are %v", recover, queries)
		}
	}
}

// TestReplay_StopsWithConsumer checks that a replay reads only a few partitions ahead of its
// consumer.
func TestReplay_StopsWithConsumer(t *testing.T) {
	t.Parallel()
	const parallelism = 3
	s := newScene(t, parallelism)
	s.singles(1, 950)
	s.put(s.keys.EncodeHighMark(pid, 900))
	seen := 0
	_, err := s.store.Replay(t.Context(), &dynamo.Meter{}, request(), func(*layout.Event) error {
		if seen++; seen == 5 {
			return protocol.ErrStop
		}
		return nil
	})
	if err != nil || seen != 5 {
		t.Errorf("%d events, %v; want 5", seen, err)
	}
	if n := len(s.queries()); n > parallelism {
		t.Errorf("%d partitions were read for 5 events", n)
	}
	failed := errors.New("the consumer fails")
	if _, err := s.store.Replay(t.Context(), &dynamo.Meter{}, request(), func(*layout.Event) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error is %v, want the consumer's", err)
	}
}

func request() protocol.Request {
	return protocol.Request{PersistenceID: pid, From: 1, To: layout.MaxSequenceNumber, Limit: protocol.Unlimited}
}

// TestReplay_LargePartitions has partitions of several pages of a megabyte each.
func TestReplay_LargePartitions(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		s := newScene(t, 10)
		large := []byte(strings.Repeat("x", 30_000))
		for seq := int64(1); seq <= 205; seq++ {
			e := &layout.Event{PersistenceID: pid, SequenceNr: seq, Bytes: large, SerializerID: 4, WriterUUID: "w"}
			if seq >= 20 && seq <= 180 { // an atomic write over many pages
				e.Batch = layout.Batch{Start: 20, Last: 180, WriterUUID: "w"}
			}
			s.put(keys.EncodeEvent(e))
		}
		s.put(s.keys.EncodeHighMark(pid, 200))
		s.want(protocol.Request{Recover: recover}, "1-205", 205)
		s.want(protocol.Request{Recover: recover, From: 150}, "150-205", 205)
		s.vanish(35, 35) // it was there when its page was read before
		s.want(protocol.Request{Recover: recover}, "1-19,181-205", 205)
	}
}

// TestRecover_SnapshotBeyondJournal checks that a recovery after a snapshot finds the highest
// number if nothing is stored after the snapshot, or nothing near it.
func TestRecover_SnapshotBeyondJournal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stored, mark, snapshot, highest int64 }{
		{5, 0, 5, 5}, {99, 0, 99, 99}, {100, 100, 100, 100}, {199, 100, 199, 199}, {250, 200, 250, 250},
		{50, 300, 50, 50},    // the mark points to nothing
		{50, 0, 80, 50},      // the snapshot is newer than the journal
		{50, 300, 80, 50},    // so it is, and the mark points to nothing
		{250, 0, 99, 250},    // the marks are lost
		{150, 100, 300, 150}, // newer by partitions
		{0, 0, 12, 0},        // the journal is lost
		{250, 100, 100, 250}, // the last mark is lost
		{199, 100, 100, 199}, // a full partition, and nothing after it
	} {
		s := newScene(t, 10)
		s.singles(1, c.stored)
		if c.mark > 0 {
			s.put(s.keys.EncodeHighMark(pid, c.mark))
		}
		var after []int64
		for n := c.snapshot + 1; n <= c.stored; n++ {
			after = append(after, n)
		}
		s.want(protocol.Request{Recover: true, From: c.snapshot + 1}, ranges(after), c.highest)
	}
}

// TestReplay_LastPartition reads the partition of the largest numbers.
func TestReplay_LastPartition(t *testing.T) {
	t.Parallel()
	const last = int64(layout.MaxSequenceNumber)
	s := newScene(t, 10)
	s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: last - 9, Removed: last - 9}, nil))
	s.singles(last-9, last)
	for _, recover := range []bool{false, true} {
		got, result, err := s.read(protocol.Request{Recover: recover})
		if err != nil || !strings.HasSuffix(got, "-9223372036854775806") || recover && result.Highest != last {
			t.Errorf("recovering %v: %q, %+v, %v", recover, got, result, err)
		}
	}
}

// TestReplay_StartsInsideAtomicWrite starts a replay inside an atomic write. The members
// before that number decide.
func TestReplay_StartsInsideAtomicWrite(t *testing.T) {
	t.Parallel()
	low := func(cut layout.Batch) layout.Attributes {
		return keys.EncodeLowMark(pid, layout.LowMark{Seq: 5, Removed: 5, Cut: cut}, nil)
	}
	for name, c := range map[string]struct {
		before []layout.Attributes
		from   int64
		want   string
	}{
		"all members exist":              {[]layout.Attributes{member(3, 3, 6), member(4, 3, 6)}, 5, "5-9"},
		"a member is missing":            {[]layout.Attributes{keys.EncodeSeal(pid, 3), member(4, 3, 6)}, 5, "7-9"},
		"another event is in its place":  {[]layout.Attributes{single(3), member(4, 3, 6)}, 5, "7-9"},
		"it was cut as a whole":          {[]layout.Attributes{low(layout.Batch{Start: 3, Last: 6, WriterUUID: "w"})}, 1, "5-9"},
		"it was cut, but not as a whole": {[]layout.Attributes{low(layout.Batch{})}, 1, "7-9"},
		"so it was, read from its last":  {[]layout.Attributes{low(layout.Batch{})}, 6, "7-9"},
	} {
		for _, recover := range []bool{false, true} {
			s := newScene(t, 10)
			s.put(c.before...)
			s.put(member(5, 3, 6), member(6, 3, 6))
			s.singles(7, 9)
			if c.from > 1 {
				s.singles(1, 2)
			}
			s.want(protocol.Request{Recover: recover, From: c.from}, c.want, 9)
			if t.Failed() {
				t.Fatalf("where %s, recovering %v", name, recover)
			}
		}
	}
}

// TestReplay_LowMarkNearEndOfPartition reads a shared journal whose low mark is two
// numbers before the end of its partition: a JVM may have rejected two events after it, the second
// with its high mark. Items that a deletion has left below the low mark do not end the replay.
func TestReplay_LowMarkNearEndOfPartition(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		s := newSceneOf(t, 10, 10)
		s.singles(92, 96)
		s.singles(101, 103)
		s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 99, Removed: 99}, nil))
		s.want(protocol.Request{Recover: recover}, "101-103", 103)
	}
}
