package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// prefix is the length of the prefix that keys share.
const prefix = 3

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// value returns the value of a key, or an empty string if the key is missing.
func value(t *testing.T, from storage.Getter, key string) string {
	t.Helper()
	var got string
	found, err := from.Get([]byte(key), func(value []byte) error {
		got = string(value)
		return nil
	})
	if err != nil || found == (got == "") {
		t.Fatalf("%s: %q, found %v, %v", key, got, found, err)
	}
	return got
}

func commit(t *testing.T, store *storage.Store, change func(*storage.Batch)) {
	t.Helper()
	batch := store.NewBatch()
	change(batch)
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
}

func openMemory(tb testing.TB) *storage.Store {
	tb.Helper()
	store, err := storage.OpenMemory(prefix)
	return opened(tb, store, err)
}

// opened returns an opened store, and closes it at the end of the test.
func opened(tb testing.TB, store *storage.Store, err error) *storage.Store {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

func TestGetFindsTheExactKey(t *testing.T) {
	store := openMemory(t)
	commit(t, store, func(b *storage.Batch) {
		b.Set([]byte("ab"), []byte("longer"))
		b.Set([]byte("aba"), []byte("longest"))
	})
	for key, want := range map[string]string{"a": "", "ab": "longer", "aba": "longest", "abaa": "", "b": ""} {
		if got := value(t, store.Reader, key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

// BenchmarkGet reads keys of a store whose lowest level has many tables. Every write does such a
// read, mostly of a new key.
func BenchmarkGet(b *testing.B) {
	store := openMemory(b)
	const streams, each = 64, 8000
	key := func(dst []byte, stream, n int) []byte { return fmt.Appendf(dst[:0], "journal-%d-%08d", stream, n) }
	value := make([]byte, 1000)
	for n := range each {
		batch := store.NewBatch()
		for stream := range streams {
			batch.Set(key(nil, stream, n), value)
		}
		if err := batch.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	for what, first := range map[string]int{"there": 0, "missing": each} {
		b.Run(what, func(b *testing.B) {
			var k []byte
			for i := 0; b.Loop(); i++ {
				k = key(k, i%streams, first+i*7919%each)
				if _, err := store.Get(k, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestBatch_AppliedWholeOrNotAtAll(t *testing.T) {
	store := openMemory(t)
	commit(t, store, func(b *storage.Batch) {
		for _, key := range []string{"a", "b", "c", "d"} {
			b.Set([]byte(key), []byte("1"+key))
		}
	})
	discarded := store.NewBatch()
	discarded.Delete([]byte("a"))
	if err := discarded.Discard(); err != nil {
		t.Fatal(err)
	}
	commit(t, store, func(b *storage.Batch) {
		b.Delete([]byte("a"))
		b.DeleteRange([]byte("b"), []byte("d"))
	})
	for key, want := range map[string]string{"a": "", "b": "", "c": "", "d": "1d"} {
		if got := value(t, store.Reader, key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestSnapshot_DoesNotChange(t *testing.T) {
	store := openMemory(t)
	commit(t, store, func(b *storage.Batch) { b.Set([]byte("a"), []byte("old")) })
	snapshot := store.Snapshot()
	commit(t, store, func(b *storage.Batch) { b.Set([]byte("a"), []byte("new")) })
	if got := value(t, snapshot.Reader, "a"); got != "old" {
		t.Errorf("the snapshot has %q", got)
	}
	if got := value(t, store.Reader, "a"); got != "new" {
		t.Errorf("the store has %q", got)
	}
	if err := snapshot.Close(); err != nil {
		t.Error(err)
	}
}

func TestIterator_MovesBothWays(t *testing.T) {
	store := openMemory(t)
	commit(t, store, func(b *storage.Batch) {
		for i := range 10 {
			b.Set(fmt.Append(nil, i), fmt.Append(nil, "v", i))
		}
	})
	it, err := store.Iterate([]byte("3"), []byte("7"))
	if err != nil {
		t.Fatal(err)
	}
	var forward, backward []byte
	for ok := it.First(); ok; ok = it.Next() {
		forward = append(forward, it.Key()...)
		if got, err := it.Value(); err != nil || !bytes.Equal(got, append([]byte("v"), it.Key()...)) {
			t.Errorf("value of %s: %s, %v", it.Key(), got, err)
		}
	}
	for ok := it.Last(); ok; ok = it.Prev() {
		backward = append(backward, it.Key()...)
	}
	if string(forward) != "3456" || string(backward) != "6543" {
		t.Errorf("forward %s, backward %s", forward, backward)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_OnceAndKeepsCommits(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"disk": vfs.Default, "memory": vfs.NewMem()} {
		dir := t.TempDir()
		store, err := storage.Open(dir, fs)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, store, func(b *storage.Batch) { b.Set([]byte("a"), []byte("1")) })
		if _, err := storage.Open(dir, fs); !errors.Is(err, storage.ErrInUse) {
			t.Errorf("%s: the second store: %v", name, err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if store, err = storage.Open(dir, fs); err != nil {
			t.Fatal(err)
		}
		if got := value(t, store.Reader, "a"); got != "1" {
			t.Errorf("%s: got %q", name, got)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGet_ReturnsErrorOfUse(t *testing.T) {
	store := openMemory(t)
	commit(t, store, func(b *storage.Batch) { b.Set([]byte("a"), []byte("1")) })
	failure := errors.New("no")
	if found, err := store.Get([]byte("a"), func([]byte) error { return failure }); !found || !errors.Is(err, failure) {
		t.Errorf("got %v, %v", found, err)
	}
}
