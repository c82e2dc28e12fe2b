package embedded

import (
	"hash/maphash"
	"slices"
	"sync"
)

// itemLocks serializes the writers of an item, from reading its old state to the end of the commit.
// Items can share a lock, which costs time but not correctness.
type itemLocks struct {
	stripes [4096]sync.Mutex
}

var lockSeed = maphash.MakeSeed()

func (l *itemLocks) stripe(key []byte) *sync.Mutex {
	return &l.stripes[maphash.Bytes(lockSeed, key)%uint64(len(l.stripes))]
}

// lockAll acquires the locks of all keys, in a fixed order, so that callers can't deadlock. It
// returns a function that releases them.
func (l *itemLocks) lockAll(keys [][]byte) func() {
	indexes := make([]int, len(keys))
	for i, key := range keys {
		indexes[i] = int(maphash.Bytes(lockSeed, key) % uint64(len(l.stripes)))
	}
	slices.Sort(indexes)
	indexes = slices.Compact(indexes)
	for _, i := range indexes {
		l.stripes[i].Lock()
	}
	return func() {
		for _, i := range indexes {
			l.stripes[i].Unlock()
		}
	}
}
