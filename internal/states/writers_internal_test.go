package states

import (
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// An item shows of each of its last writers which puts are stored, and of earlier ones nothing.
func TestItemShowsWhatItsLastWritersHaveStored(t *testing.T) {
	t.Parallel()
	all := make([]Writer, mostWriters+2)
	var writers []byte
	for i := range all {
		all[i] = NewWriter()
		writers = add(writers, all[i], int64(i+1)*1000)
	}
	writers = add(writers, all[5], 100_000) // again: nobody is left out
	s := &layout.State{Writers: writers}
	for _, c := range []struct {
		what          string
		writer        Writer
		version       int64
		stored, known bool
	}{
		{"the last put", all[5], 100_000, true, true},
		{"an earlier put of the last writer", all[5], 6000, true, true},
		{"a later put of the last writer", all[5], 100_001, false, true},
		{"the oldest that is named", all[2], 3000, true, true},
		{"one that is no longer named", all[1], 2000, false, false},
		{"another writer, on what is older than all", NewWriter(), 2500, false, false},
		{"another writer, on what is newer than the oldest", NewWriter(), 3001, false, true},
	} {
		if stored, known := Wrote(s, c.writer, c.version); stored != c.stored || known != c.known {
			t.Errorf("%s: %v, %v; want %v, %v", c.what, stored, known, c.stored, c.known)
		}
	}
	if stored, known := Wrote(nil, all[0], 1); stored || !known {
		t.Errorf("without an item: %v, %v", stored, known)
	}
	few := &layout.State{Writers: add(nil, all[0], 7)}
	if stored, known := Wrote(few, all[1], 1); stored || !known {
		t.Errorf("few writers: %v, %v", stored, known)
	}
	if len(writers) > mostWriters*(len(Writer{})+3) {
		t.Errorf("the writers have %d bytes", len(writers))
	}
}

// Bytes that are cut name fewer writers, and are no endless loop.
func TestWritersThatAreCutAreLeftOut(t *testing.T) {
	t.Parallel()
	w := NewWriter()
	whole := add(nil, w, 1<<40)
	for n := range whole {
		if stored, _ := Wrote(&layout.State{Writers: whole[:n]}, w, 1); stored {
			t.Errorf("%d bytes name the writer", n)
		}
	}
}
