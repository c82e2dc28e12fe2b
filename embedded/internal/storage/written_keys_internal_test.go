package storage

import (
	"fmt"
	"sync"
	"testing"
)

const testPrefix = 3

func TestWrittenKeys_HasEveryWrittenKey(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 20_000
	w := newWrittenKeys(testPrefix)
	key := func(writer, i int) []byte { return fmt.Appendf(nil, "key-%d-%d", writer, i) }
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := range each {
				if w.add(key(writer, i)); !w.has(key(writer, i)) {
					t.Errorf("%s was added, and is missing", key(writer, i))
				}
			}
		})
	}
	group.Wait()
	if n := len(*w.filters.Load()); n != 3 {
		t.Errorf("there are %d filters for %d keys, want 3", n, writers*each)
	}
	for writer := range writers {
		for i := range each {
			if !w.has(key(writer, i)) {
				t.Fatalf("%s was added, and is missing", key(writer, i))
			}
		}
	}
	mistaken := 0
	for i := range writers * each {
		if w.has(key(writers, i)) {
			mistaken++
		}
	}
	if most := writers * each / 20; mistaken > most {
		t.Errorf("%d of %d missing keys were taken for written, want at most %d", mistaken, writers*each, most)
	}
}

func TestWrittenKeys_RepeatedKeyTakesNoRoom(t *testing.T) {
	t.Parallel()
	w := newWrittenKeys(testPrefix)
	for range 2 * firstFilterKeys {
		w.add([]byte("key"))
	}
	if n := len(*w.filters.Load()); n > 1 {
		t.Errorf("there are %d filters for one key", n)
	}
}

// A search would panic, because the reader has no store.
func TestWrittenKeys_MissingKeyIsNotSearched(t *testing.T) {
	t.Parallel()
	from := Reader{written: newWrittenKeys(testPrefix)}
	for name, get := range map[string]Getter{"Get": from, "Lookup": &Lookup{from: from}} {
		if found, err := get.Get([]byte("key"), nil); found || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestWrittenKeys_MissingPrefixIsNotSearched(t *testing.T) {
	t.Parallel()
	from := Reader{written: newWrittenKeys(testPrefix)}
	it, err := from.Iterate([]byte("key"), []byte("key-9"))
	if err != nil {
		t.Fatal(err)
	}
	if it.First() || it.Last() {
		t.Error("the iterator finds a key")
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

// A range can be known to be empty only if all of its keys have the same prefix.
func TestWrittenKeys_RangeMayHaveKey(t *testing.T) {
	t.Parallel()
	w := newWrittenKeys(testPrefix)
	w.add([]byte("key-5"))
	w.add([]byte("ke"))
	for bounds, want := range map[[2]string]bool{
		// A key with the prefix is written.
		{"key", "key-9"}: true, {"key-5", "key-6"}: true, {"key-7", "key-8"}: true,
		// Keys in the range can have several prefixes, or be shorter than a prefix.
		{"ke", "kf"}: true, {"k", "key-5"}: true, {"abc", "abd"}: true, {"abc", "zzz"}: true,
		{"abc", "abc-9"}: false, {"abc-1", "abc-9"}: false,
	} {
		if got := w.hasBetween([]byte(bounds[0]), []byte(bounds[1])); got != want {
			t.Errorf("%q: %v, want %v", bounds, got, want)
		}
	}
}

func TestWrittenKeys_NilHasEveryKey(t *testing.T) {
	t.Parallel()
	var w *writtenKeys
	if w.add([]byte("a")); !w.has([]byte("b")) || !w.hasBetween([]byte("b"), []byte("ba")) {
		t.Error("a key of which nothing is known is taken for missing")
	}
}
