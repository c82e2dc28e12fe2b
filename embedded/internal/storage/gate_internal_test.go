package storage

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// countedFS counts the files that are created, and blocks each creation until release is closed.
type countedFS struct {
	vfs.FS

	made     atomic.Int32
	release  chan struct{}
	unlocked atomic.Bool
}

func (f *countedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f.made.Add(1)
	<-f.release
	return f.FS.Create(name, category)
}

func (f *countedFS) Lock(string) (io.Closer, error) { return f, nil }

func (f *countedFS) Close() error {
	f.unlocked.Store(true)
	return nil
}

// A store that has failed must not change a folder that another store may have opened.
func TestGate_ChangesNothingAfterFailure(t *testing.T) {
	fs := &countedFS{FS: vfs.NewMem(), release: make(chan struct{})}
	close(fs.release)
	g := &gate{FS: fs, failure: newFailure("here")}
	_ = g.failure.set("writing", io.ErrShortWrite)
	if _, err := g.Create("file", vfs.WriteCategoryUnspecified); !errors.Is(err, ErrFailed) || fs.made.Load() != 0 {
		t.Errorf("%d files were made, the error is %v", fs.made.Load(), err)
	}
}

// The folder of a failed store is released only when no call that may change it is in progress.
func TestGate_LocksFolderDuringCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &countedFS{FS: vfs.NewMem(), release: make(chan struct{})}
		g := &gate{FS: fs, failure: newFailure("here")}
		if _, err := g.Lock("LOCK"); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = g.Create("file", vfs.WriteCategoryUnspecified) }()
		synctest.Wait()
		_ = g.failure.set("writing", io.ErrShortWrite)
		g.abandon()
		if fs.unlocked.Load() {
			t.Error("the folder was given free while a file was being made")
		}
		close(fs.release)
		synctest.Wait()
		if !fs.unlocked.Load() {
			t.Error("the folder is still held")
		}
	})
}
