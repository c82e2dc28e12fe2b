package storage

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOpen_FirstLogHasSyncedOffsets checks the first log of a new folder that has a write. The log
// before it, without synced offsets, may still exist: Pebble removes it in the background.
func TestOpen_FirstLogHasSyncedOffsets(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	store, err := Open("folder", fs)
	if err != nil {
		t.Fatal(err)
	}
	batch := store.NewBatch()
	batch.Set([]byte("key"), []byte("what was written"))
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("folder")
	logs := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		data, failed := readFile(fs.PathJoin("folder", name), fs)
		if failed != nil && !errors.Is(failed, os.ErrNotExist) {
			t.Error(failed)
		}
		if bytes.Contains(data, []byte("what was written")) {
			logs++
			if kind := data[plainHeader-1]; kind < 9 {
				t.Errorf("%s begins with a chunk of type %d, which does not say it", name, kind)
			}
		}
	}
	if err = errors.Join(err, store.Close()); err != nil || logs != 1 {
		t.Errorf("%d logs have the write, the error is %v", logs, err)
	}
}
