package embedded

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

const (
	// streamRetention is the time for which a record can be read.
	streamRetention = 24 * time.Hour
	// trimStep is the maximum number of records that one commit removes.
	trimStep = 10_000
	// splitRate is the number of records a second above which the engine splits a shard: the writes
	// that a partition of the service can take.
	splitRate = 1000
)

// sweepStreams replaces shards that are old or get many writes. It removes records, shards and
// disabled streams that have been readable for 24 hours. Writers wait only while a shard is
// replaced, for one commit.
func (e *Engine) sweepStreams() error {
	e.streamsLock.RLock()
	streams := make([]*stream, 0, len(e.streams))
	for _, s := range e.streams {
		streams = append(streams, s)
	}
	e.streamsLock.RUnlock()
	for _, s := range streams {
		if err := e.sweepStream(s); err != nil {
			return fmt.Errorf("sweeping the stream of %s: %w", s.table, err)
		}
	}
	return nil
}

func (e *Engine) sweepStream(s *stream) error {
	if err := e.replaceDue(s); err != nil {
		return err
	}
	horizon := e.now().Add(-streamRetention).UnixMilli()
	state := s.current()
	if state.DisabledAt != 0 && state.DisabledAt < horizon {
		return e.removeStream(s)
	}
	for _, shard := range state.Shards {
		for more := true; more; {
			var err error
			if more, err = e.trim(s, shard.Number, horizon); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceDue replaces the shards that are due.
func (e *Engine) replaceDue(s *stream) error {
	now := e.now().UnixMilli()
	s.lock.Lock()
	elapsed := float64(now-s.sweptAt) / 1000
	busy := map[uint32]bool{}
	for _, open := range s.open {
		busy[open.number] = s.sweptAt > 0 && float64(open.records) > splitRate*max(elapsed, 1)
		open.records = 0
	}
	s.sweptAt = now
	due := false
	for i := range s.state.Shards {
		due = due || s.state.Shards[i].children(busy, now) > 0
	}
	s.lock.Unlock()
	if !due {
		return nil
	}
	t, err := e.exclusive(s.table)
	if err != nil {
		return nil // the table is deleted, which has closed the shards
	}
	defer t.lock.Unlock()
	if t.stream != s {
		return nil
	}
	return e.replaceShards(t, func(candidate *shard) int { return candidate.children(busy, now) })
}

// children returns the number of shards that have to replace the shard, or 0 if it stays.
func (s *shard) children(busy map[uint32]bool, now int64) int {
	switch {
	case s.Last != 0:
		return 0
	case busy[s.Number]:
		return 2
	case now-s.OpenedAt >= shardLife.Milliseconds():
		return 1
	}
	return 0
}

// trim removes records of a shard that were made before the horizon, at most trimStep, and the
// shard if it is closed and has no records left. It reports whether there is more to remove.
func (e *Engine) trim(s *stream, number uint32, horizon int64) (more bool, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	state := s.copied()
	i := state.find(number)
	if i < 0 {
		return false, nil
	}
	trimmed := &state.Shards[i]
	from := recordKey(s.id, number, 0)
	end, last, n, err := e.oldRecords(s, trimmed, horizon)
	if err != nil {
		return false, err
	}
	if n > 0 {
		trimmed.Trimmed = last + 1
	}
	gone := end && trimmed.Last != 0 && trimmed.ClosedAt < horizon
	if gone {
		state.Shards = append(state.Shards[:i], state.Shards[i+1:]...)
	}
	if n == 0 && !gone {
		return false, nil
	}
	to := recordKey(s.id, number, last+1)
	return n == trimStep, e.storeStream(s, state, func(batch *storage.Batch) { batch.DeleteRange(from, to) })
}

// oldRecords counts the oldest records of a shard that were made before the horizon, up to
// trimStep. last is the sequence number of the last of them. end reports whether the shard has no
// other records.
func (e *Engine) oldRecords(s *stream, of *shard, horizon int64) (end bool, last uint64, n int, err error) {
	it, err := e.store.Iterate(recordKey(s.id, of.Number, of.Trimmed), recordKey(s.id, of.Number, s.visible()))
	if err != nil {
		return false, 0, 0, err
	}
	end = true
	for ok := it.First(); ok; ok = it.Next() {
		var value []byte
		var at int64
		if value, err = it.Value(); err == nil {
			at, err = recordTime(value)
		}
		if err != nil || at >= horizon || n == trimStep {
			end = false
			break
		}
		last, n = recordNumber(it.Key()), n+1
	}
	return end, last, n, joinClose(err, it)
}

// removeStream removes a disabled stream with all its records.
func (e *Engine) removeStream(s *stream) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	batch := e.store.NewBatch()
	batch.Delete(streamKey(s.id))
	batch.DeleteRange(recordKey(s.id, 0, 0), recordKey(s.id, math.MaxUint32, math.MaxUint64))
	if err := batch.Commit(); err != nil {
		return fmt.Errorf("removing it: %w", err)
	}
	e.streamsLock.Lock()
	defer e.streamsLock.Unlock()
	delete(e.streams, s.arn())
	return nil
}

var errNoStream = errors.New("the table has no enabled stream")
