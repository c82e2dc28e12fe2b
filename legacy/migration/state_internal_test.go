package migration

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynajournal/dynajournal/internal/filelock"
)

func TestOpenState_AlreadyOpen(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "state")
	first, err := OpenState(name, "m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenState(name, "m"); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	if err := errors.Join(first.add("a", 1), first.Close()); err != nil {
		t.Fatal(err)
	}
	next, err := OpenState(name, "m")
	if err != nil {
		t.Fatal(err)
	}
	if !next.done("a") {
		t.Error("the line that the first state has written is lost")
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzState opens any file as a state file. A refused file stays unchanged. An accepted file keeps
// its complete lines, and can be written to and opened again.
func FuzzState(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("{\"migration\":\"m\"}\n{\"persistence_id\":\"a\",\"highest\":3}\n{\"persist"))
	f.Add([]byte("{\"migration\":\"other\"}\n"))
	f.Add([]byte("{\"persistence_id\":\"a\"}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		name := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		read := func() []byte {
			now, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			return now
		}
		s, err := OpenState(name, "m")
		if err != nil {
			if !bytes.Equal(read(), content) {
				t.Errorf("the file was refused (%v), and has changed to %q", err, read())
			}
			return
		}
		whole := content[:bytes.LastIndexByte(content, '\n')+1]
		if err := errors.Join(s.add("next", 7), s.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(read(), whole) {
			t.Errorf("the file has lost lines: %q", read())
		}
		known := len(s.copied)
		again, err := OpenState(name, "m")
		if err != nil {
			t.Fatalf("%q can't be opened again: %v", read(), err)
		}
		if !again.done("next") || len(again.copied) < known-1 {
			t.Errorf("%d ids are known, there were %d", len(again.copied), known)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
