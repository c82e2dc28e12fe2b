package storage_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func lookup(t *testing.T, from storage.Reader) *storage.Lookup {
	t.Helper()
	l, err := from.Lookup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ofEachKind returns an empty store of each kind.
func ofEachKind(tb testing.TB) map[string]*storage.Store {
	tb.Helper()
	folder, err := storage.Open("store", vfs.NewMem())
	return map[string]*storage.Store{"memory": openMemory(tb), "folder": opened(tb, folder, err)}
}

// There are enough keys that most of them are in sorted files. They are looked up in a mixed order.
func TestKeysAreFoundInAnyOrder(t *testing.T) {
	for kind, store := range ofEachKind(t) {
		t.Run(kind, func(t *testing.T) {
			keys, step := testsize.Of(12_000, 60_000), 7919
			large := make([]byte, 200)
			for from := 0; from < keys; from += 1000 {
				commit(t, store, func(b *storage.Batch) {
					for i := from; i < from+1000; i += 2 {
						b.Set(fmt.Appendf(nil, "key-%06d", i), fmt.Appendf(large, "%d", i))
					}
				})
			}
			commit(t, store, func(b *storage.Batch) { b.Delete([]byte("key-000004")) })
			l := lookup(t, store.Reader)
			for i := range keys {
				n := i * step % keys
				key, want := fmt.Sprintf("key-%06d", n), ""
				if n%2 == 0 && n != 4 {
					want = string(fmt.Appendf(large, "%d", n))
				}
				if got := value(t, l, key); got != want {
					t.Fatalf("%s: a lookup finds %q, want %q", key, got, want)
				}
				if got := value(t, store.Reader, key); got != want {
					t.Fatalf("%s: Get finds %q, want %q", key, got, want)
				}
			}
			for _, key := range []string{"key", "key-000002-", "key-1", "z"} {
				if got := value(t, l, key); got != "" {
					t.Errorf("%q is missing, found %q", key, got)
				}
			}
		})
	}
}

func TestLookupReadsTheStateOfItsBeginning(t *testing.T) {
	store := openMemory(t)
	put := func(key, value string) {
		commit(t, store, func(b *storage.Batch) { b.Set([]byte(key), []byte(value)) })
	}
	put("a", "old")
	l := lookup(t, store.Reader)
	put("a", "new")
	put("b", "new")
	if a, b := value(t, l, "a"), value(t, l, "b"); a != "old" || b != "" {
		t.Errorf("a %q, b %q after the lookup has begun, want the state before", a, b)
	}
	if a := value(t, lookup(t, store.Reader), "a"); a != "new" {
		t.Errorf("a later lookup finds %q", a)
	}
}

func BenchmarkMissingKeys(b *testing.B) {
	for kind, store := range ofEachKind(b) {
		b.Run(kind, func(b *testing.B) { benchmarkMissingKeys(b, store) })
	}
}

func benchmarkMissingKeys(b *testing.B, store *storage.Store) {
	b.Helper()
	const stored, batch = 400_000, 1000
	// Missing keys are between the stored ones, which are in the order of a hash as in the engine.
	key := func(n int) []byte { return fmt.Appendf(nil, "%08x-%d", uint32(n)*2654435761, n) }
	value, use := make([]byte, 600), func([]byte) error { return nil }
	for from := 0; from < stored; from += batch {
		items := store.NewBatch()
		for i := from; i < from+batch; i++ {
			items.Set(key(2*i), value)
		}
		if err := items.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	for _, keys := range []int{1, 2, 20} {
		n := 1
		missing := func() []byte {
			n += 2
			return key(n)
		}
		b.Run(fmt.Sprintf("get/%d", keys), func(b *testing.B) {
			for b.Loop() {
				for range keys {
					if _, err := store.Get(missing(), use); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprintf("lookup/%d", keys), func(b *testing.B) {
			for b.Loop() {
				l, err := store.Lookup()
				if err != nil {
					b.Fatal(err)
				}
				for range keys {
					if _, err := l.Get(missing(), use); err != nil {
						b.Fatal(err)
					}
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
