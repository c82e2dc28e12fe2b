package embedded

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// shardLife is the time for which a shard accepts records before another one replaces it.
const shardLife = 4 * time.Hour

// shard is a part of a stream, with the records of the items whose partition keys have hashes in a
// range.
type shard struct {
	Number uint32 `json:"number"`
	// Parent is the id of the shard that had the hashes before, or empty.
	Parent string    `json:"parent,omitempty"`
	Hashes hashRange `json:"hashes"`
	// First is lower than the sequence numbers of all records. Last is higher, or 0 while the shard
	// is open. Neither is the number of a record.
	First uint64 `json:"first"`
	Last  uint64 `json:"last,omitempty"`
	// Trimmed is the sequence number below which records have been removed, or 0.
	Trimmed  uint64 `json:"trimmed,omitempty"`
	OpenedAt int64  `json:"openedAtMilliseconds"`
	ClosedAt int64  `json:"closedAtMilliseconds,omitempty"`
}

// openShard is a shard that accepts records.
type openShard struct {
	number uint32
	hashes hashRange
	// records counts the records since the engine last decided whether to split the shard.
	records int64
}

// hashRange is a range of hashes of partition keys, both ends included.
type hashRange struct {
	From uint32 `json:"from"`
	To   uint32 `json:"to"`
}

var wholeRange = hashRange{0, math.MaxUint32}

// divide splits the range into n ranges, or fewer if it is too small.
func (h hashRange) divide(n int) []hashRange {
	size := uint64(h.To) - uint64(h.From) + 1
	parts := min(uint64(max(n, 1)), size)
	ranges := make([]hashRange, 0, parts)
	for i := range parts {
		from := uint64(h.From) + size*i/parts
		to := uint64(h.From) + size*(i+1)/parts - 1
		ranges = append(ranges, hashRange{uint32(from), uint32(to)})
	}
	return ranges
}

func (h hashRange) compare(other hashRange) int { return cmp.Compare(h.From, other.From) }

// hashOf returns the hash of the partition key in an item's storage key.
func hashOf(storageKey []byte) uint32 { return binary.BigEndian.Uint32(storageKey[prefixBytes:]) }

// start returns the first sequence number from which records can be read.
func (s *shard) start() uint64 { return max(s.First, s.Trimmed) }

// id returns the shard's id. Ids are in the order in which their shards were opened.
func (s *shard) id() string { return fmt.Sprintf("shardId-%020d-%08x", s.OpenedAt, s.Number) }

// sequenceDigits is the number of digits of a sequence number. The first digit is 1, so that
// sequence numbers have the same order as texts and as numbers.
const sequenceDigits = 21

// sequenceText returns a sequence number as clients see it.
func sequenceText(number uint64) string { return fmt.Sprintf("1%0*d", sequenceDigits-1, number) }

// openShard adds a shard to a state. The caller holds the table's lock exclusively, or is the only
// user of the stream.
func (s *stream) openShard(state *streamState, hashes hashRange, parent string, now int64) {
	state.Shards = append(state.Shards, shard{
		Number: state.NextShard, Parent: parent, Hashes: hashes, First: s.takeSequenceNumber(), OpenedAt: now,
	})
	state.NextShard++
}

// closeShard closes a shard of a state. The caller holds the table's lock exclusively.
func (s *stream) closeShard(closing *shard, now int64) {
	closing.Last, closing.ClosedAt = s.takeSequenceNumber(), now
}

// takeSequenceNumber returns a sequence number that no record has.
func (s *stream) takeSequenceNumber() uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.next++
	return s.next - 1
}

// SplitShards closes the open shards of a table's stream, and opens two children of each, one for
// each half of its partition keys. The service and the engine do this when a partition gets many
// writes; with SplitShards, a test can do it at any time. It fails if the table does not exist or
// does not have an enabled stream.
func (e *Engine) SplitShards(table string) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	t, err := e.exclusive(table)
	if err != nil {
		return fmt.Errorf("embedded: splitting the shards of %s: %w", table, err)
	}
	defer t.lock.Unlock()
	if t.stream == nil {
		return fmt.Errorf("embedded: splitting the shards of %s: %w", table, errNoStream)
	}
	return e.replaceShards(t, func(*shard) int { return 2 })
}

// replaceShards calls parts for each open shard of a table's stream. If the result is not 0, it
// closes the shard and opens that many children. The caller holds the table's lock exclusively.
func (e *Engine) replaceShards(t *table, parts func(*shard) int) error {
	s := t.stream
	s.changing.Lock()
	defer s.changing.Unlock()
	state, now := s.copied(), e.now().UnixMilli()
	replaced := false
	for i := range state.Shards {
		n := 0
		if state.Shards[i].Last == 0 {
			n = parts(&state.Shards[i])
		}
		if n == 0 {
			continue
		}
		replaced = true
		s.closeShard(&state.Shards[i], now)
		for _, hashes := range state.Shards[i].Hashes.divide(n) {
			s.openShard(state, hashes, state.Shards[i].id(), now)
		}
	}
	if !replaced {
		return nil
	}
	return e.storeStream(s, state, nil)
}

// shardFor returns the open shard for a hash. The caller holds s.lock.
func (s *stream) shardFor(hash uint32) *openShard {
	i, found := slices.BinarySearchFunc(s.open, hash, func(o *openShard, hash uint32) int {
		return cmp.Compare(o.hashes.From, hash)
	})
	if !found {
		i--
	}
	return s.open[i]
}
