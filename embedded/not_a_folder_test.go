package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// The disk is not at fault, so the error must not ask for its repair.
func TestOpen_FileInsteadOfFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		_, err := embedded.Open(path)
		if !errors.Is(err, embedded.ErrStorageFailed) || !strings.Contains(err.Error(), "the path of a folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
