package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readPause delays each failed read after the store has failed. Pebble's goroutines retry
// immediately and forever, which would keep a CPU busy.
const readPause = time.Second

// gate is the file system that Pebble uses. It passes all calls on until one fails. Then it records
// that error, and never changes a file again.
//
// Pebble can't continue after most errors: it panics with locks held, unlocks mutexes that are not
// locked, retries a flush forever, shows writes that were refused, or closes objects that its own
// goroutines still use. The gate therefore hides errors from Pebble. After the store has failed, a
// goroutine of Pebble that tries to change a file is blocked forever, as if the disk were slow. It
// keeps its locks. Nothing waits for it, see [Store.commit] and [Store.openPebble].
type gate struct {
	vfs.FS

	failure *failure
	// opening is set while Pebble opens the store.
	// opened is set after Pebble has opened the store. Before opening is set, only this package
	// calls the gate, and it can handle errors.
	opening, opened atomic.Bool

	// changes counts the calls in progress that may change a file. The lock of the folder is
	// released when changes is 0 and abandoned is set.
	lock      sync.Mutex
	changes   int
	abandoned bool
	claimed   io.Closer
	// released is closed when the lock of the folder has been released. It is nil until the lock is
	// acquired.
	released chan struct{}
}

// releaseWait is how long an abandoned store waits for calls in progress. If the disk hangs, they
// may never return. The folder is released when they do.
const releaseWait = time.Second

// enter starts a call that may change a file. Unless it fails, end must follow.
func (g *gate) enter() error {
	g.lock.Lock()
	err := g.failure.get()
	if err == nil {
		g.changes++
	}
	g.lock.Unlock()
	if err != nil {
		return g.stop(err)
	}
	return nil
}

// end finishes a call that may change a file. An error fails the store.
func (g *gate) end(what, name string, err error) error {
	if err != nil {
		err = g.failure.set(what+" "+name, err)
	}
	g.lock.Lock()
	g.changes--
	g.releaseUnused()
	g.lock.Unlock()
	if err != nil {
		return g.stop(err)
	}
	return nil
}

// change makes one call that may change a file.
func (g *gate) change(what, name string, call func() error) error {
	if err := g.enter(); err != nil {
		return err
	}
	return g.end(what, name, call())
}

// stop parks the calling goroutine if Pebble may be the caller. Otherwise it returns the error.
func (g *gate) stop(err error) error {
	if g.opening.Load() || g.opened.Load() {
		g.failure.park()
	}
	return err
}

// read handles the error of a call that does not change files.
func (g *gate) read(what, name string, err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrNotExist) {
		return err
	}
	again := g.failure.get() != nil
	err = g.failure.set(what+" "+name, err)
	switch {
	case g.opening.Load():
		g.failure.park()
	case again:
		time.Sleep(readPause)
	}
	return err
}

// abandon releases the folder as soon as no call can change its files. It waits for that for at
// most releaseWait.
func (g *gate) abandon() {
	g.lock.Lock()
	g.abandoned = true
	claimed := g.claimed != nil
	g.releaseUnused()
	g.lock.Unlock()
	if !claimed {
		return
	}
	select {
	case <-g.released:
	case <-time.After(releaseWait):
	}
}

func (g *gate) releaseUnused() {
	if g.abandoned && g.changes == 0 && g.claimed != nil {
		_ = g.claimed.Close() // if this fails, the lock ends with the process
		g.claimed = nil
		close(g.released)
	}
}

// claim is the lock of the folder, as Pebble gets it.
type claim struct{ gate *gate }

// Close releases the folder.
func (c claim) Close() error {
	c.gate.lock.Lock()
	defer c.gate.lock.Unlock()
	if c.gate.claimed == nil {
		return nil
	}
	err := c.gate.claimed.Close()
	c.gate.claimed = nil
	close(c.gate.released)
	return err
}

// Lock acquires the lock of the folder.
func (g *gate) Lock(name string) (io.Closer, error) {
	closer, err := g.FS.Lock(name)
	switch {
	case err != nil && inUse(err):
		return nil, err
	case err != nil:
		return nil, g.failure.set("locking "+name, err)
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	g.claimed, g.released = closer, make(chan struct{})
	return claim{g}, nil
}

// Unwrap returns the wrapped file system.
func (g *gate) Unwrap() vfs.FS { return g.FS }

// Create creates a file.
func (g *gate) Create(name string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = g.change("making", name, func() error {
		file, err = g.FS.Create(name, category)
		return err
	})
	return g.wrap(file, name, true, err)
}

// OpenReadWrite opens a file for changes.
func (g *gate) OpenReadWrite(
	name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (file vfs.File, err error) {
	err = g.change("opening", name, func() error {
		file, err = g.FS.OpenReadWrite(name, category, opts...)
		return err
	})
	return g.wrap(file, name, true, err)
}

// ReuseForWrite renames an old file and opens it for changes.
func (g *gate) ReuseForWrite(
	oldname, newname string, category vfs.DiskWriteCategory,
) (file vfs.File, err error) {
	err = g.change("making", newname, func() error {
		file, err = g.FS.ReuseForWrite(oldname, newname, category)
		return err
	})
	return g.wrap(file, newname, true, err)
}

// Open opens a file for reading. A missing table is an error of the storage: Pebble opens only
// tables that it wrote.
func (g *gate) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := g.FS.Open(name, opts...)
	if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(name, ".sst") {
		err = fmt.Errorf("a table is missing: %s", firstLine(err.Error())) //nolint:err113 // not to match os.ErrNotExist
	}
	return g.wrap(file, name, false, g.read("opening", name, err))
}

// OpenDir opens a folder for syncing.
func (g *gate) OpenDir(name string) (vfs.File, error) {
	file, err := g.FS.OpenDir(name)
	return g.wrap(file, name, false, g.read("opening", name, err))
}

func (g *gate) wrap(file vfs.File, name string, written bool, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &gatedFile{File: file, gate: g, name: name, written: written}, nil
}

// Link links a file.
func (g *gate) Link(oldname, newname string) error {
	return g.change("linking", newname, func() error { return g.FS.Link(oldname, newname) })
}

// Remove removes a file. If the file does not exist, it returns an error without failing the store.
func (g *gate) Remove(name string) error {
	return g.remove(name, g.FS.Remove)
}

// RemoveAll removes a folder and its content.
func (g *gate) RemoveAll(name string) error {
	return g.remove(name, g.FS.RemoveAll)
}

func (g *gate) remove(name string, remove func(string) error) error {
	var missing error
	err := g.change("removing", name, func() error {
		err := remove(name)
		if errors.Is(err, os.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	if err == nil {
		err = missing
	}
	return err
}

// Rename renames a file.
func (g *gate) Rename(oldname, newname string) error {
	return g.change("renaming to", newname, func() error { return g.FS.Rename(oldname, newname) })
}

// MkdirAll creates a folder and its parents.
func (g *gate) MkdirAll(dir string, perm os.FileMode) error {
	return g.change("making", dir, func() error { return g.FS.MkdirAll(dir, perm) })
}

// List lists a folder.
func (g *gate) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	return names, g.read("listing", dir, err)
}

// Stat describes a file.
func (g *gate) Stat(name string) (vfs.FileInfo, error) {
	info, err := g.FS.Stat(name)
	return info, g.read("reading the state of", name, err)
}

// GetDiskUsage returns the usage of the disk. Pebble paces its deletions by it. An error does not
// fail the store.
func (g *gate) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := g.FS.GetDiskUsage(path)
	if err != nil {
		return usage, vfs.ErrUnsupported
	}
	return usage, nil
}

// gatedFile is an open file whose calls go through the gate.
type gatedFile struct {
	vfs.File

	gate *gate
	name string
	// written is set for a file that was opened for changes.
	written bool
}

// Write writes p completely, or returns an error.
func (f *gatedFile) Write(p []byte) (n int, err error) {
	err = f.gate.change("writing", f.name, func() error {
		if n, err = f.File.Write(p); err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	return n, err
}

// WriteAt writes p at an offset completely, or returns an error.
func (f *gatedFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.gate.change("writing", f.name, func() error {
		if n, err = f.File.WriteAt(p, offset); err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	return n, err
}

// Sync makes the file durable.
func (f *gatedFile) Sync() error { return f.gate.change("syncing", f.name, f.File.Sync) }

// SyncData makes the file's bytes durable.
func (f *gatedFile) SyncData() error { return f.gate.change("syncing", f.name, f.File.SyncData) }

// SyncTo starts to make the file durable up to the offset length.
func (f *gatedFile) SyncTo(length int64) (whole bool, err error) {
	err = f.gate.change("syncing", f.name, func() error {
		whole, err = f.File.SyncTo(length)
		return err
	})
	return whole, err
}

// Close closes the file. For a written file, Close may be the first call that reports that data is
// not stored. For a file that was only read, an error is ignored.
func (f *gatedFile) Close() error {
	if !f.written {
		_ = f.File.Close()
		return nil
	}
	return f.gate.change("closing", f.name, f.File.Close)
}

// Read reads from the current offset.
func (f *gatedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, f.gate.read("reading", f.name, err)
}

// ReadAt reads at an offset.
func (f *gatedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	return n, f.gate.read("reading", f.name, err)
}
