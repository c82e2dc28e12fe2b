package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTheFirstLogHasSyncedOffsets checks the first log of a new folder.
func TestTheFirstLogHasSyncedOffsets(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	store, err := Open("folder", fs)
	if err != nil {
		t.Fatal(err)
	}
	batch := store.NewBatch()
	batch.Set([]byte("key"), []byte("value"))
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
		if err = errors.Join(err, failed); len(data) > plainHeader {
			logs++
			if kind := data[plainHeader-1]; kind < 9 {
				t.Errorf("%s begins with a chunk of type %d, which does not say it", name, kind)
			}
		}
	}
	if err = errors.Join(err, store.Close()); err != nil || logs == 0 {
		t.Errorf("%d logs, the error is %v", logs, err)
	}
}
