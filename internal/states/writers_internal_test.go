package states

import (
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// An item shows which put of each of its last writers is stored. It shows nothing about earlier
// writers.
func TestWrote_LastWriters(t *testing.T) {
	t.Parallel()
	put := func(w Writer, n int64) PutID {
		id, _ := identify(w, &layout.State{Version: n})
		return id
	}
	all, puts := make([]Writer, mostWriters+2), make([]PutID, mostWriters+2)
	var writers []byte
	for i := range all {
		all[i] = NewWriter()
		puts[i] = put(all[i], int64(i+1)*1000)
		writers = add(writers, puts[i], int64(i+1)*1000)
	}
	last := put(all[5], 100_000)
	writers = add(writers, last, 100_000) // again: no writer is left out
	s := &layout.State{Writers: writers}
	for _, c := range []struct {
		what          string
		put           PutID
		version       int64
		stored, known bool
	}{
		{"the last put", last, 100_000, true, true},
		{"another put of its writer of that version", put(all[5], 100_000), 100_000, false, true},
		{"an earlier put of its writer", puts[5], 6000, false, false},
		{"a later put of its writer", put(all[5], 100_001), 100_001, false, true},
		{"the oldest that is named", puts[2], 3000, true, true},
		{"one that is no longer named", puts[1], 2000, false, false},
		{"another writer, on what is older than all", put(NewWriter(), 0), 2500, false, false},
		{"another writer, on what is newer than the oldest", put(NewWriter(), 0), 3001, false, true},
	} {
		if stored, known := Wrote(s, c.put, c.version); stored != c.stored || known != c.known {
			t.Errorf("%s: %v, %v; want %v, %v", c.what, stored, known, c.stored, c.known)
		}
	}
	if got := LastPut(s); got != last {
		t.Errorf("the last put is %x, want %x", got, last)
	}
	if stored, known := Wrote(nil, puts[0], 1); stored || !known {
		t.Errorf("without an item: %v, %v", stored, known)
	}
	few := &layout.State{Writers: add(nil, puts[0], 7)}
	if stored, known := Wrote(few, puts[1], 1); stored || !known {
		t.Errorf("few writers: %v, %v", stored, known)
	}
	if len(writers) > mostWriters*(len(PutID{})+3) {
		t.Errorf("the writers have %d bytes", len(writers))
	}
}

// Truncated bytes name fewer writers, and do not cause an endless loop.
func TestWrote_TruncatedWriters(t *testing.T) {
	t.Parallel()
	put, _ := identify(NewWriter(), &layout.State{})
	whole := add(nil, put, 1<<40)
	for n := range whole {
		if stored, _ := Wrote(&layout.State{Writers: whole[:n]}, put, 1<<40); stored {
			t.Errorf("%d bytes name the writer", n)
		}
	}
}
