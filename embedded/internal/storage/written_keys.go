package storage

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/greatroar/blobloom"
)

// writtenKeys has every key that was set since the store was opened empty, and the prefix of each
// key. If it does not have a key, the key does not exist. If it does not have a prefix, no key with
// the prefix exists. Otherwise that would take a search in the memtables and the sorted tables.
// Most keys that a write looks up are new.
//
// Invariant: a key is added before the batch that sets it is applied, and is never removed. So a
// key that was not added is missing now, and in every existing snapshot.
//
// It is safe for concurrent use. A nil writtenKeys has all keys: it is for a store that may not
// have been opened empty.
type writtenKeys struct {
	// prefix is the length of a prefix, in bytes.
	prefix int
	seed   maphash.Seed
	// filters grow in number with the keys. New keys are added to the last filter.
	filters atomic.Pointer[[]*keyFilter]
	growing sync.Mutex // locked while a filter is added
}

// keyFilter is a Bloom filter. It has the keys that were added, and a few false positives.
type keyFilter struct {
	*blobloom.SyncFilter
	// room is the number of keys that can still be added. Below 0, the next filter is needed.
	room atomic.Int64
}

const (
	// firstFilterKeys is the capacity of the first filter. Each further filter has filterGrowth
	// times the capacity of the previous one, so that a lookup has to ask few filters.
	firstFilterKeys = 1 << 13
	filterGrowth    = 4
	// falsePositiveRate is the rate of false positives of a full filter. It takes 10 bits per key.
	falsePositiveRate = 0.01
)

func newWrittenKeys(prefix int) *writtenKeys {
	w := &writtenKeys{prefix: prefix, seed: maphash.MakeSeed()}
	w.filters.Store(&[]*keyFilter{newKeyFilter(firstFilterKeys)})
	return w
}

func newKeyFilter(keys int64) *keyFilter {
	f := &keyFilter{
		SyncFilter: blobloom.NewSyncOptimized(blobloom.Config{Capacity: uint64(keys), FPRate: falsePositiveRate}),
	}
	f.room.Store(keys)
	return f
}

// has reports whether the key was added. For a few keys that were not added, it also returns true.
func (w *writtenKeys) has(key []byte) bool {
	return w == nil || hasHash(*w.filters.Load(), maphash.Bytes(w.seed, key))
}

// hasBetween reports whether a key from lower, inclusive, to upper, exclusive, may have been added.
// If the bounds do not have the same prefix, it returns true.
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

// grow adds a filter after the first n filters, unless another caller has already done so.
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
