package storage

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/greatroar/blobloom"
)

// writtenKeys has every key that was set since the store was opened empty, and its prefix. A key
// that it does not have is missing, and so are all keys with a prefix that it does not have. To
// find that out otherwise takes a search in the memtables and the sorted tables. Most keys that a
// write looks up are new.
//
// Invariant: a key is added before the batch that sets it is applied, and is never removed. So a
// key that was not added is missing now, and in every snapshot there is.
//
// It is safe for concurrent use. A nil writtenKeys is that of a store that may not have been opened
// empty: it has all keys.
type writtenKeys struct {
	// prefix is the length of a prefix.
	prefix int
	seed   maphash.Seed
	// filters grow in number with the keys. New keys are added to the last one.
	filters atomic.Pointer[[]*keyFilter]
	growing sync.Mutex // held while a filter is added
}

// keyFilter is a Bloom filter: it has the keys that were added, and by mistake a few others.
type keyFilter struct {
	*blobloom.SyncFilter
	// room is how many further keys can be added. Below 0, the next filter follows.
	room atomic.Int64
}

const (
	// firstFilterKeys is how many keys the first filter is for. Each further one is for
	// filterGrowth times as many as the one before, so that few have to be asked.
	firstFilterKeys = 1 << 13
	filterGrowth    = 4
	// mistakes is the part of the missing keys that a full filter has by mistake. That takes 10
	// bits for a key.
	mistakes = 0.01
)

func newWrittenKeys(prefix int) *writtenKeys {
	w := &writtenKeys{prefix: prefix, seed: maphash.MakeSeed()}
	w.filters.Store(&[]*keyFilter{newKeyFilter(firstFilterKeys)})
	return w
}

func newKeyFilter(keys int64) *keyFilter {
	f := &keyFilter{
		SyncFilter: blobloom.NewSyncOptimized(blobloom.Config{Capacity: uint64(keys), FPRate: mistakes}),
	}
	f.room.Store(keys)
	return f
}

// has reports whether the key was added. It is wrong only about few keys that were not.
func (w *writtenKeys) has(key []byte) bool {
	return w == nil || hasHash(*w.filters.Load(), maphash.Bytes(w.seed, key))
}

// hasBetween reports whether a key from lower, inclusive, to upper, exclusive, may have been added.
// It knows only of bounds with the same prefix.
func (w *writtenKeys) hasBetween(lower, upper []byte) bool {
	if w == nil || len(lower) < w.prefix || !bytes.HasPrefix(upper, lower[:w.prefix]) {
		return true
	}
	return w.has(lower[:w.prefix])
}

func hasHash(filters []*keyFilter, hash uint64) bool {
	for _, f := range filters {
		if f.Has(hash) {
			return true
		}
	}
	return false
}

// add adds a key and its prefix.
func (w *writtenKeys) add(key []byte) {
	if w == nil {
		return
	}
	w.addHash(maphash.Bytes(w.seed, key))
	if len(key) > w.prefix {
		w.addHash(maphash.Bytes(w.seed, key[:w.prefix]))
	}
}

func (w *writtenKeys) addHash(hash uint64) {
	for {
		filters := *w.filters.Load()
		if hasHash(filters, hash) {
			return
		}
		if last := filters[len(filters)-1]; last.room.Add(-1) >= 0 {
			last.Add(hash)
			return
		}
		w.grow(len(filters))
	}
}

// grow lets a filter follow the last of n, unless another caller has.
func (w *writtenKeys) grow(n int) {
	w.growing.Lock()
	defer w.growing.Unlock()
	filters := *w.filters.Load()
	if len(filters) > n {
		return
	}
	keys := int64(firstFilterKeys)
	for range filters {
		keys *= filterGrowth
	}
	grown := append(slices.Clip(filters), newKeyFilter(keys))
	w.filters.Store(&grown)
}
