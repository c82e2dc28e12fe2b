package systemtest

import (
	"slices"

	"github.com/dynajournal/dynajournal"
)

// The model predicts the result of a replay from a set of items. It follows the rules of the
// storage semantics on all items at once, without partition reads, pages or requests.

const modelBlock = 100

// modelBatch is an atomic write. The zero value means none.
type modelBatch struct {
	start, last int64
	writer      string
}

// modelItem is the item at one sequence number.
type modelItem struct {
	// event is false for tombstones and seals.
	event bool
	// expires is true for a tombstone.
	expires bool
	writer  string
	batch   modelBatch

	serializer                   int32
	serializerManifest, manifest string
	bytes                        []byte
}

// modelLow is the low mark with the highest value.
type modelLow struct {
	seq int64
	// jvm is true for a JVM's low mark, which does not name a cut.
	jvm bool
	cut modelBatch
}

// model is a journal's content for one persistence id.
type model struct {
	items map[int64]modelItem
	low   modelLow
	high  int64
	// shared is true if a JVM may write to the journal.
	shared bool
}

func (m *model) first() int64 { return max(m.low.seq, 1) }

// whole reports whether an atomic write counts, which requires that all its members are stored.
// Members below the low mark may be missing if the low mark names this write as cut, or is a JVM's,
// which does not name any.
func (m *model) whole(b modelBatch) bool {
	if b.start < m.first() && !m.low.jvm && m.low.cut != b {
		return false
	}
	for seq := max(b.start, m.first()); seq <= b.last; seq++ {
		if it := m.items[seq]; !it.event || it.batch != b {
			return false
		}
	}
	return true
}

// visible reports whether the event at seq counts.
func (m *model) visible(seq int64) bool {
	it := m.items[seq]
	return it.event && seq >= m.first() && (it.batch == modelBatch{} || m.whole(it.batch))
}

// top returns the highest number that is taken in a block, or 0.
func (m *model) top(block int64) int64 {
	for seq := block*modelBlock + modelBlock - 1; seq >= max(block*modelBlock, 1); seq-- {
		if _, ok := m.items[seq]; ok {
			return seq
		}
	}
	return 0
}

// highest returns the highest number. It starts in the block to which the marks point, goes back
// over empty blocks to the low mark, and then continues into the next block while the last number
// of a block is taken.
func (m *model) highest() int64 {
	deleted := max(m.low.seq-1, 0)
	highest := deleted
	for block := max(m.high, deleted) / modelBlock; block >= m.first()/modelBlock; block-- {
		if top := m.top(block); top > 0 {
			highest = max(highest, top)
			break
		}
	}
	for highest%modelBlock == modelBlock-1 {
		top := m.top(highest/modelBlock + 1)
		if top == 0 {
			break
		}
		highest = top
	}
	return highest
}

// next returns the next number of a writer. In a shared journal, a recovery has closed the number
// after an atomic write whose last members are missing.
func (m *model) next() int64 {
	highest := m.highest()
	if m.shared && highest >= m.first() && m.items[highest].batch.last > highest {
		return highest + 2
	}
	return highest + 1
}

// events returns the sequence numbers of the events in a window.
func (m *model) events(w dynajournal.Range) []int64 {
	var seqs []int64
	for _, seq := range m.numbers() {
		if w.Limit != nil && int64(len(seqs)) >= *w.Limit {
			break
		}
		if seq >= w.From && (w.To == 0 || seq <= w.To) && m.visible(seq) {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// replay returns the sequence numbers that a recovery replays. It stops before an atomic write that
// its limits cut.
func (m *model) replay(o dynajournal.RecoverOptions) []int64 {
	var seqs []int64
	all := m.events(dynajournal.Range{From: o.After + 1})
	for len(all) > 0 {
		n := 1
		b := m.items[all[0]].batch
		for b != (modelBatch{}) && n < len(all) && m.items[all[n]].batch == b {
			n++
		}
		if o.To != 0 && all[n-1] > o.To || o.Limit != nil && int64(len(seqs)+n) > *o.Limit {
			break
		}
		seqs = append(seqs, all[:n]...)
		all = all[n:]
	}
	return seqs
}

// gaps returns the numbers that a recovery closes. A number that is missing before a tombstone was
// deleted with it.
func (m *model) gaps(after int64) []int64 {
	var seqs []int64
	for seq := max(after+1, m.first()); seq <= m.highest(); seq++ {
		it, ok := m.items[seq]
		switch {
		case it.expires:
			seqs = nil
		case !ok:
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// numbers returns the taken numbers in ascending order.
func (m *model) numbers() []int64 {
	seqs := make([]int64, 0, len(m.items))
	for seq := range m.items {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return seqs
}
