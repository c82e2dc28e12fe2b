package embedded_test

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// storageFault is a fault in the calls of a file system.
type storageFault struct {
	name string
	// calls has the classes of calls that the fault hits.
	calls string
	err   error
	// part is set if a write stores its first half.
	part bool
}

// The classes of calls: make (a file or folder, also a hard link or a file for reuse), write, sync,
// rename, remove, lock, open, read, list (a folder, or stat a file), shut.
var storageFaults = []storageFault{
	{name: "no space", calls: "make write rename", err: syscall.ENOSPC},
	{name: "part of a write, then no space", calls: "write", err: syscall.ENOSPC, part: true},
	{name: "sync fails", calls: "sync", err: syscall.EIO},
	{name: "close fails", calls: "shut", err: syscall.EIO},
	{name: "read-only", calls: "make write rename remove lock", err: syscall.EROFS},
	{name: "read fails", calls: "open read list", err: syscall.EIO},
}

// faultyFS counts the calls that a fault hits, and fails the call with the number at. With forever,
// it also fails all later ones. If at is 0, no call fails.
type faultyFS struct {
	vfs.FS

	fault storageFault

	lock    sync.Mutex
	at      int
	forever bool
	calls   int
	failed  int
}

// hit returns the error of a call of the class.
func (f *faultyFS) hit(class, name string) error {
	if !strings.Contains(f.fault.calls, class) {
		return nil
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.calls++
	if f.at == 0 || f.calls < f.at || f.calls > f.at && !f.forever {
		return nil
	}
	f.failed++
	return &os.PathError{Op: class, Path: name, Err: f.fault.err}
}

// repair ends the fault.
func (f *faultyFS) repair() {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.at = 0
}

// seen returns the number of calls that the fault hits, and the number of calls that failed.
func (f *faultyFS) seen() (calls, failed int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.calls, f.failed
}

func (f *faultyFS) file(class, name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := f.hit(class, name); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

func (f *faultyFS) call(class, name string, call func() error) error {
	if err := f.hit(class, name); err != nil {
		return err
	}
	return call()
}

func (f *faultyFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file("make", name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

func (f *faultyFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file("make", name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

func (f *faultyFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file("make", newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
}

func (f *faultyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file("open", name, func() (vfs.File, error) { return f.FS.Open(name, opts...) })
}

func (f *faultyFS) OpenDir(name string) (vfs.File, error) {
	return f.file("open", name, func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f *faultyFS) Link(oldname, newname string) error {
	return f.call("make", newname, func() error { return f.FS.Link(oldname, newname) })
}

func (f *faultyFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.call("make", dir, func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *faultyFS) Rename(oldname, newname string) error {
	return f.call("rename", newname, func() error { return f.FS.Rename(oldname, newname) })
}

func (f *faultyFS) Remove(name string) error {
	return f.call("remove", name, func() error { return f.FS.Remove(name) })
}

func (f *faultyFS) Lock(name string) (io.Closer, error) {
	if err := f.hit("lock", name); err != nil {
		return nil, err
	}
	return f.FS.Lock(name)
}

func (f *faultyFS) List(dir string) ([]string, error) {
	if err := f.hit("list", dir); err != nil {
		return nil, err
	}
	return f.FS.List(dir)
}

func (f *faultyFS) Stat(name string) (vfs.FileInfo, error) {
	if err := f.hit("list", name); err != nil {
		return nil, err
	}
	return f.FS.Stat(name)
}

func (f *faultyFS) Unwrap() vfs.FS { return f.FS }

type faultyFile struct {
	vfs.File

	fs   *faultyFS
	name string
}

func (f *faultyFile) Write(p []byte) (int, error) {
	err := f.fs.hit("write", f.name)
	if err == nil {
		return f.File.Write(p)
	}
	n := 0
	if f.fs.fault.part {
		n, _ = f.File.Write(p[:len(p)/2])
	}
	return n, err
}

func (f *faultyFile) Sync() error     { return f.fs.call("sync", f.name, f.File.Sync) }
func (f *faultyFile) SyncData() error { return f.fs.call("sync", f.name, f.File.SyncData) }

func (f *faultyFile) SyncTo(length int64) (whole bool, err error) {
	err = f.fs.call("sync", f.name, func() error {
		whole, err = f.File.SyncTo(length)
		return err
	})
	return whole, err
}

func (f *faultyFile) Close() error {
	err := f.fs.hit("shut", f.name)
	if closing := f.File.Close(); err == nil {
		err = closing
	}
	return err
}

func (f *faultyFile) Read(p []byte) (int, error) {
	if err := f.fs.hit("read", f.name); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *faultyFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.fs.hit("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, offset)
}
