package storage

import (
	"fmt"
	"testing"
)

// TestBlocksStayInTheCache reads blocks again when the memtable has its full size, which counts
// towards the cache size.
func TestBlocksStayInTheCache(t *testing.T) {
	t.Parallel()
	store, err := OpenMemory(testPrefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	keys, value := 0, make([]byte, 100_000)
	for store.db.Metrics().MemTable.Size < memoryTableBytes {
		batch := store.NewBatch()
		batch.Set(fmt.Appendf(nil, "key-%d", keys), value)
		if err := batch.Commit(); err != nil {
			t.Fatal(err)
		}
		keys++
	}
	if err := store.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for n := range keys {
			if found, err := store.Get(fmt.Appendf(nil, "key-%d", n), func([]byte) error { return nil }); err != nil || !found {
				t.Fatalf("key-%d: found %v, error %v", n, found, err)
			}
		}
	}
	if cache := store.db.Metrics().BlockCache; cache.Count == 0 || cache.Hits == 0 {
		t.Errorf("the cache has %d blocks, and was hit %d times", cache.Count, cache.Hits)
	}
}
