package newfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// In a file system that can't rename without replacing, the name is created by a link, which
// replaces nothing either.
func TestALinkReplacesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := linkNew(from, to, errors.ErrUnsupported); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(from, []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := linkNew(from, to, errors.ErrUnsupported); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Errorf("it has %q, %v", got, err)
	}
}
