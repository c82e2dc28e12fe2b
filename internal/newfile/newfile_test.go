package newfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynajournal/dynajournal/internal/newfile"
)

func TestPublishReplacesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	for name, content := range map[string]string{from: "new", to: "old"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := newfile.Publish(from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	expect := func(name, want string) {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
	expect(from, "new")
	expect(to, "old")
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := newfile.Publish(from, to); err != nil {
		t.Fatal(err)
	}
	expect(to, "new")
	if _, err := os.Lstat(from); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name is left: %v", err)
	}
}
