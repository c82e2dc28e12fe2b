package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// marksRead returns a channel that is closed after the marks were read. The first partition is read
// in parallel. Changes that the replay must not know yet are made after that.
func (s *scene) marksRead() <-chan struct{} {
	read := make(chan struct{})
	s.after = once(operation("BatchGetItem"), func() { close(read) })
	return read
}

// afterMarks delays the first query until the marks were read, and calls do before the query: so
// the marks are older than the pages.
func (s *scene) afterMarks(do func()) {
	read := s.marksRead()
	s.before = once(operation("Query"), func() {
		<-read
		do()
	})
}

// TestReplay_LowMarkMovesBeforePages deletes between the read of the marks and the read of the
// first page. The page must be judged by the newer low mark.
func TestReplay_LowMarkMovesBeforePages(t *testing.T) {
	t.Parallel()
	cut := layout.Batch{Start: 3, Last: 6, WriterUUID: "w"}
	for name, c := range map[string]struct {
		delete  func(s *scene)
		want    string
		highest int64
	}{
		"singles, by tombstones": {func(s *scene) { s.bury(1, layout.LowMark{Seq: 3, Removed: 3}) }, "3-9", 9},
		"into an atomic write":   {func(s *scene) { s.bury(1, layout.LowMark{Seq: 5, Removed: 5, Cut: cut}) }, "5-9", 9},
		"into an atomic write, not yet removed": {
			func(s *scene) { s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 5, Removed: 1, Cut: cut}, nil)) },
			"1-9", 9, // nothing looks irregular, as if everything had been read before
		},
		"everything, by tombstones": {func(s *scene) { s.bury(1, layout.LowMark{Seq: 10, Removed: 10}) }, "", 9},
		"everything, and it vanished": {func(s *scene) {
			s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 10, Removed: 10}, nil))
			s.vanish(1, 9)
		}, "", 9},
		"a JVM's deletion of singles":           {func(s *scene) { s.jvmDeletes(1, 2) }, "3-9", 9},
		"a JVM's deletion into an atomic write": {func(s *scene) { s.jvmDeletes(1, 4) }, "5-9", 9},
		"a JVM's deletion of everything":        {func(s *scene) { s.jvmDeletes(1, 9) }, "", 9},
	} {
		for _, recover := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, recovering %v", name, recover), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, 10)
				s.singles(1, 2)
				s.batch(3, 6)
				s.singles(7, 9)
				s.afterMarks(func() { c.delete(s) })
				s.want(protocol.Request{Recover: recover}, c.want, c.highest)
			})
		}
	}
}

// TestReplay_LowMarkReadWhileMarksInFlight delays the marks of a new persistence id. The replay
// reads the low mark once more without waiting for them.
func TestReplay_LowMarkReadWhileMarksInFlight(t *testing.T) {
	t.Parallel()
	for _, shards := range []int64{1, 10} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			t.Parallel()
			s := newSceneOf(t, 10, shards)
			confirmed := make(chan struct{})
			s.after = once(func(a asked) bool { return a.operation == "BatchGetItem" && !a.high }, func() { close(confirmed) })
			s.before = func(a asked) {
				if a.high {
					<-confirmed
				}
			}
			s.want(protocol.Request{Recover: true}, "", 0)
			if n := s.count(anything); n != 3 {
				t.Errorf("there were %d requests, want the marks, the first partition, and the low mark once more", n)
			}
		})
	}
}

// TestRecover_EmptyFirstPartition recovers events after an empty first partition.
func TestRecover_EmptyFirstPartition(t *testing.T) {
	t.Parallel()
	for _, shards := range []int64{1, 10} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			t.Parallel()
			s := newSceneOf(t, 10, shards)
			s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 301, Removed: 301}, nil), s.keys.EncodeHighMark(pid, 300))
			s.singles(301, 305)
			s.want(protocol.Request{Recover: true}, "301-305", 305)
			if n := s.count(anything); n != 4 {
				t.Errorf("there were %d requests, want the marks, two partitions, and the low mark of one that shows nothing", n)
			}
		})
	}
}

// TestReplay_LowMarkMovesToAnotherShard deletes everything between the read of the marks and the
// read of the first page, up to a number whose low mark is in another shard than the previous one.
func TestReplay_LowMarkMovesToAnotherShard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, last int64
		raised      int64 // beyond the deleted numbers, by a writer that continues after a snapshot
	}{
		"within the first block":        {1, 5, 0},
		"to the end of the block":       {1, 99, 0},
		"within the high mark's":        {1, 150, 0},
		"to the end of the high mark's": {1, 199, 0},
		"behind what was deleted":       {940, 1030, 0},
		"behind a snapshot":             {5501, 5599, 0},
		"after a snapshot":              {1, 5, 5501},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSceneOf(t, 10, 10)
			s.singles(c.first, c.last)
			if c.first > 1 {
				s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: c.first, Removed: c.first}, nil))
			}
			if c.first < 5000 && c.last >= layout.PartitionSize {
				s.put(s.keys.EncodeHighMark(pid, layout.HighestBlock(c.last)))
			}
			s.afterMarks(func() {
				s.jvmDeletes(c.first, c.last)
				if c.raised > 0 {
					s.put(s.keys.EncodeFence(pid, c.last+1, c.raised))
				}
			})
			s.want(protocol.Request{Recover: true}, "", max(c.last, c.raised-1))
		})
	}
}

// TestReplay_DeletionOfEventsWrittenAfterMarksRead lets others write far beyond the marks, between
// the read of the marks and the read of the first page, and delete most of these events. The
// deletion is interrupted after 25 numbers. The deleted events that are left must not be handed
// out.
func TestReplay_DeletionOfEventsWrittenAfterMarksRead(t *testing.T) {
	t.Parallel()
	const cut, deleted = 25, 250
	for name, remove := range map[string]func(s *scene){
		"tombstones": func(s *scene) {
			s.bury(1, layout.LowMark{Seq: cut + 1, Removed: cut + 1})
			s.vanishMark(cut + 1)
			s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: deleted + 1, Removed: 1}, nil))
		},
		"a JVM": func(s *scene) {
			s.jvmDeletes(1, cut)
			s.vanishMark(cut + 1)
			s.jvmDeletes(deleted+1, deleted)
		},
		"a JVM, in no order": func(s *scene) {
			s.jvmDeletes(deleted+1, deleted)
			s.vanish(51, 51+cut)
		},
		"a JVM, with atomic writes": func(s *scene) {
			s.jvmDeletes(deleted+1, deleted)
			s.batch(1, 50)
			s.vanish(26, 50)
		},
	} {
		for _, recover := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, recovering %v", name, recover), func(t *testing.T) {
				t.Parallel()
				s := newSceneOf(t, 10, 10)
				s.singles(1, 10)
				s.afterMarks(func() {
					s.singles(11, 300)
					s.put(s.keys.EncodeHighMark(pid, 100), s.keys.EncodeHighMark(pid, 200), s.keys.EncodeHighMark(pid, 300))
					remove(s)
				})
				if !strings.HasSuffix(name, "order") {
					s.want(protocol.Request{Recover: recover}, "251-300", 300)
					return
				}
				got, _, err := s.read(protocol.Request{Recover: recover})
				if recover && (got != "1-50" || !errors.Is(err, protocol.ErrDeletedMeanwhile)) {
					t.Errorf("a recovery handed out %q, %v; want 1-50 and %v", got, err, protocol.ErrDeletedMeanwhile)
				}
				if !recover && (got != "1-50,251-300" || err != nil) {
					t.Errorf("a reader was handed out %q, %v; want 1-50,251-300", got, err)
				}
			})
		}
	}
}

// TestReplay_LowMarkMovesToFenceValue lets another writer continue far beyond the journal, after a
// snapshot.
func TestReplay_LowMarkMovesToFenceValue(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		t.Run(fmt.Sprintf("recovering %v", recover), func(t *testing.T) {
			t.Parallel()
			s := newSceneOf(t, 10, 10)
			s.afterMarks(func() {
				s.put(s.keys.EncodeFence(pid, 1, 5501), s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 5501, Removed: 5501}, nil))
				s.singles(5501, 5503)
			})
			s.want(protocol.Request{Recover: recover}, "5501-5503", 5503)
		})
	}
}

// TestReplay_LowMarkNamesCutLater names in the low mark which atomic write it cuts, after the marks
// were read. The low mark has the same value, but judges differently.
func TestReplay_LowMarkNamesCutLater(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		s := newScene(t, 10)
		s.put(s.keys.EncodeLowMark(pid, layout.LowMark{Seq: 5, Removed: 5}, nil), member(5, 3, 6), member(6, 3, 6))
		s.singles(7, 9)
		cut := layout.LowMark{Seq: 5, Removed: 5, Cut: layout.Batch{Start: 3, Last: 6, WriterUUID: "w"}}
		s.afterMarks(func() { s.put(s.keys.EncodeLowMark(pid, cut, nil)) })
		s.want(protocol.Request{Recover: recover}, "5-9", 9)
	}
}

// lowMarksRead reports whether a request reads only low marks.
func lowMarksRead(a asked) bool { return a.operation == "BatchGetItem" && !a.high }

// erased leaves only a high mark, as an interrupted purge that erases does.
func erased(s *scene) { s.put(s.keys.EncodeHighMark(pid, 100)) }

// TestReplay_LowMarkOlderThanSecondPage reads the low mark in parallel with an empty first page.
// Before the second page is read, which is also empty, another writer writes up to there and
// deletes everything. The first low mark does not show that.
func TestReplay_LowMarkOlderThanSecondPage(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10)
	erased(s)
	lowRead := make(chan struct{})
	s.after = once(lowMarksRead, func() { close(lowRead) })
	s.before = once(query(1), func() {
		<-lowRead
		s.jvmDeletes(1, 150)
	})
	s.want(protocol.Request{Recover: true}, "", 150)
}

// TestReplay_LowMarkResponseAfterSecondPage does the same with a low mark whose response arrives
// after the second page.
func TestReplay_LowMarkResponseAfterSecondPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, 10)
		erased(s)
		lowRead, paged := make(chan struct{}), make(chan struct{})
		s.before = once(query(1), func() {
			<-lowRead
			s.jvmDeletes(1, 150)
		})
		low := once(lowMarksRead, func() {
			close(lowRead)
			<-paged
			// In the bubble, the second page gets its time stamp before this ends.
			time.Sleep(time.Millisecond)
		})
		page := once(query(1), func() { close(paged) })
		s.after = func(a asked) {
			low(a)
			page(a)
		}
		s.want(protocol.Request{Recover: true}, "", 150)
	})
}

// TestReplay_LowMarkInLaterShard deletes everything in two partitions, before both are read.
// After the empty first page, the low mark is searched only where a new entity can have it. The
// deletion has put it in a later shard.
func TestReplay_LowMarkInLaterShard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const last = 199
		s := newSceneOf(t, 10, 10)
		s.singles(1, last)
		s.put(s.keys.EncodeHighMark(pid, layout.HighestBlock(last)))
		deleted, paged := make(chan struct{}), make(chan struct{})
		read := s.marksRead()
		remove := once(query(0), func() {
			<-read
			s.jvmDeletes(1, last)
			close(deleted)
		})
		s.before = func(a asked) {
			remove(a)
			if query(1)(a) {
				<-deleted
			}
		}
		marks, second := s.after, once(query(1), func() { close(paged) })
		first := once(query(0), func() {
			<-paged
			// In the bubble, the second page gets its time stamp before this ends.
			time.Sleep(time.Millisecond)
		})
		s.after = func(a asked) {
			marks(a)
			second(a)
			first(a)
		}
		s.want(protocol.Request{Recover: true}, "", last)
	})
}

// jvmDeletes deletes as the plug-in does: it puts a mark that does not name a cut batch, and
// deletes the items.
func (s *scene) jvmDeletes(from, to int64) {
	s.Helper()
	mark := s.keys.EncodeLowMark(pid, layout.LowMark{Seq: to + 1}, nil)
	delete(mark, layout.AttrRemoved)
	s.put(mark)
	s.vanish(from, to)
}

// TestReplay_DeletedMeanwhile deletes while a replay has handed out the first partition. A reader
// continues after the deleted events. A recovery would lack them, and returns an error.
func TestReplay_DeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		t.Run(fmt.Sprintf("recovering %v", recover), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 1)
			s.singles(1, 230)
			s.put(s.keys.EncodeHighMark(pid, 200))
			s.before = once(query(1), func() { s.bury(1, layout.LowMark{Seq: 151, Removed: 151}) })
			got, result, err := s.read(protocol.Request{Recover: recover})
			if recover {
				if !errors.Is(err, protocol.ErrDeletedMeanwhile) || got != "1-99" {
					t.Errorf("a recovery handed out %q, %v; want 1-99 and %v", got, err, protocol.ErrDeletedMeanwhile)
				}
				return
			}
			if err != nil || got != "1-99,151-230" {
				t.Errorf("a reader was handed out %q, %+v, %v; want 1-99,151-230", got, result, err)
			}
		})
	}
}

// TestRecover_HandedOutEventsDeleted deletes only events that a recovery has handed out already.
func TestRecover_HandedOutEventsDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	s.singles(1, 150)
	s.put(s.keys.EncodeHighMark(pid, 100))
	s.before = once(query(1), func() { s.bury(1, layout.LowMark{Seq: 60, Removed: 60}) })
	s.want(protocol.Request{Recover: true}, "1-150", 150)
}

// TestReplay_LowMarkMovesRepeatedly moves the low mark each time after it was read.
func TestReplay_LowMarkMovesRepeatedly(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		t.Run(fmt.Sprintf("recovering %v", recover), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 10)
			s.singles(1, 50)
			var mu sync.Mutex
			low := int64(1)
			read := s.marksRead()
			s.before = func(a asked) {
				if a.operation != "Query" {
					return
				}
				<-read
				mu.Lock()
				defer mu.Unlock()
				if low < 40 {
					s.bury(low, layout.LowMark{Seq: low + 10, Removed: low + 10})
					low += 10
				}
			}
			s.want(protocol.Request{Recover: recover}, "41-50", 50)
		})
	}
}

// TestReplay_GapFilledAfterPageRead stores events after their page was read.
func TestReplay_GapFilledAfterPageRead(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		t.Run(fmt.Sprintf("recovering %v", recover), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 10)
			s.singles(1, 2)
			s.batch(3, 6)
			s.singles(7, 9)
			s.vanish(2, 2)
			s.vanish(4, 5)
			s.after = once(query(0), func() { s.put(single(2), member(4, 3, 6), member(5, 3, 6)) })
			s.want(protocol.Request{Recover: recover}, "1-9", 9)
		})
	}
}

// TestRecover_SealFindsEvent stores events after the gap was read again, and before it is sealed.
func TestRecover_SealFindsEvent(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10)
	s.singles(1, 2)
	s.batch(3, 6)
	s.singles(7, 9)
	s.vanish(2, 2)
	s.vanish(4, 5)
	s.before = once(operation("PutItem"), func() { s.put(single(2)) })
	// Two members of the atomic write are sealed.
	s.want(protocol.Request{Recover: true}, "1-2,7-9", 9)

	s = newScene(t, 10)
	s.singles(1, 2)
	s.batch(3, 6)
	s.vanish(4, 5)
	s.before = once(operation("PutItem"), func() { s.put(member(4, 3, 6), member(5, 3, 6)) })
	s.want(protocol.Request{Recover: true}, "1-6", 6)
}

// TestRecover_SealFindsTombstone deletes the missing numbers before they are sealed.
func TestRecover_SealFindsTombstone(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10)
	s.singles(1, 9)
	s.vanish(1, 3)
	s.before = once(operation("PutItem"), func() { s.bury(1, layout.LowMark{Seq: 6, Removed: 6}) })
	s.want(protocol.Request{Recover: true}, "6-9", 9)
}

// TestReplay_LaterPartitionReadEarlier reads the second partition ahead, before an atomic write
// that crosses into it is stored, and the first partition after that. The atomic write must not be
// taken for incomplete because something is stored after it.
func TestReplay_LaterPartitionReadEarlier(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{false, true} {
		t.Run(fmt.Sprintf("recovering %v", recover), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 10)
			s.singles(201, 203)
			s.put(s.keys.EncodeHighMark(pid, 200))
			landed := make(chan struct{})
			s.after = once(query(1), func() {
				s.singles(1, 97)
				s.batch(98, 103)
				s.singles(104, 200)
				close(landed)
			})
			s.before = once(query(0), func() { <-landed })
			s.want(protocol.Request{Recover: recover}, "1-203", 203)
		})
	}
}
