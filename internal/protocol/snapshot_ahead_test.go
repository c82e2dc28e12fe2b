package protocol_test

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// A snapshot is ahead of a journal that ends before it, if the journal was not lost: at any place
// in a partition, for recoveries and for readers. In a shared journal only an event shows that it
// was not lost.
func TestSnapshotAhead_JournalNotLost(t *testing.T) {
	t.Parallel()
	low := keys.EncodeLowMark(pid, layout.LowMark{Seq: 4, Removed: 4}, nil)
	events := func(n int64) (all []layout.Attributes) {
		for seq := int64(1); seq <= n; seq++ {
			all = append(all, single(seq))
		}
		return all
	}
	for name, c := range map[string]struct {
		stored         []layout.Attributes
		highest        int64
		native, shared bool
	}{
		"nothing":                       {nil, 0, true, false},
		"events":                        {events(3), 3, true, true},
		"events in another partition":   {events(120), 120, true, true},
		"events, and a seal after them": {append(events(3), keys.EncodeSeal(pid, 4)), 4, true, true},
		"a seal":                        {[]layout.Attributes{keys.EncodeSeal(pid, 1)}, 1, true, false},
		"a low mark":                    {[]layout.Attributes{low}, 3, true, false},
		"a part of an atomic write":     {[]layout.Attributes{member(2, 1, 3)}, 2, true, false},
	} {
		for _, snapshot := range []int64{130, 199, 200, 1000} {
			for _, shared := range []bool{false, true} {
				s := newScene(t, 10)
				if !shared {
					s.store.IDsShards = 1
				}
				s.put(c.stored...)
				for _, recover := range []bool{true, false} {
					req := protocol.Request{Recover: recover, Snapshot: true, From: snapshot + 1}
					_, _, err := s.read(req)
					var want *protocol.SnapshotAheadError
					if c.native && !shared || c.shared {
						want = &protocol.SnapshotAheadError{PersistenceID: pid, Snapshot: snapshot, Highest: c.highest}
					}
					got, ok := errors.AsType[*protocol.SnapshotAheadError](err)
					if want == nil && err != nil || want != nil && (!ok || *got != *want) {
						t.Errorf("%s, a snapshot at %d, recovering %v, shared %v: %v, want %v", name, snapshot, recover, shared, err, want)
					}
					req.JournalLost = true
					s.want(req, "", c.highest)
				}
			}
		}
	}
}

// A snapshot is not ahead if anything is stored at its number, or after it, or its number is
// deleted.
func TestSnapshotAhead_NotAhead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(*scene)
		want string
	}{
		"its event":             {func(s *scene) { s.singles(1, 99) }, ""},
		"the event after it":    {func(s *scene) { s.singles(100, 100) }, "100"},
		"a seal at its number":  {func(s *scene) { s.singles(1, 3); s.put(keys.EncodeSeal(pid, 99)) }, ""},
		"its number is deleted": {func(s *scene) { s.bury(1, layout.LowMark{Seq: 100, Removed: 100}) }, ""},
	} {
		for _, shards := range []int64{0, 1} {
			s := newScene(t, 10)
			s.store.IDsShards = shards
			c.put(s)
			for _, recover := range []bool{true, false} {
				got, _, err := s.read(protocol.Request{Recover: recover, Snapshot: true, From: 100})
				if err != nil || got != c.want {
					t.Errorf("%s, recovering %v: handed out %q (%v), want %q", name, recover, got, err, c.want)
				}
			}
		}
	}
}

// A recovery has decided to continue after the snapshot, and crashed after it put its fence. The
// next recovery also continues.
func TestSnapshotAhead_FenceOfRecovery(t *testing.T) {
	t.Parallel()
	for _, shards := range []int64{0, 1} {
		for _, c := range []struct {
			low   int64
			ahead bool
		}{{251, false}, {201, true}, {0, true}} {
			s := newScene(t, 10)
			s.store.IDsShards = shards
			s.singles(1, 3)
			s.put(keys.EncodeFence(pid, 4, c.low))
			_, _, err := s.read(protocol.Request{Recover: true, Snapshot: true, From: 251})
			if errors.Is(err, protocol.ErrSnapshotAhead) != c.ahead || !c.ahead && err != nil {
				t.Errorf("with a fence to %d: %v, want an error: %v", c.low, err, c.ahead)
			}
		}
	}
}
