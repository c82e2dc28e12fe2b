// Package filelock keeps two processes from writing the same file. The operating system holds the
// locks and releases them when the process that took them ends, however it ends.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// ErrLocked reports that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("another process is writing it")

// Lock locks an open file without waiting. The lock is released when the file is closed.
//
// Errors: ErrLocked; errors.ErrUnsupported on an operating system without such locks; any other
// error of the operating system, because a network file system may not support locks.
func Lock(f *os.File) error {
	if err := lock(f); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Guard is a lock on a name. Only one Guard exists for a name.
type Guard struct{ file *os.File }

// attempts limits how often Acquire starts again because another holder has just released the lock.
const attempts = 100

// Acquire takes the lock on a name without waiting. It creates an empty file of that name, which
// Release removes. Errors are those of Lock, and of opening the file.
func Acquire(name string) (*Guard, error) {
	for range attempts {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's name
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		claimed, err := claim(f, name)
		if claimed {
			return &Guard{f}, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
}

// claim locks an open file, and reports whether the file still has its name.
func claim(f *os.File, name string) (bool, error) {
	if err := Lock(f); err != nil {
		return false, err
	}
	return isNamed(f, name)
}

// isNamed reports whether a file still has its name. A holder removes the file when it releases the
// lock, and a process that had opened it then locks a file that no other process can open.
func isNamed(f *os.File, name string) (bool, error) {
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	if !there.Mode().IsRegular() || there.Size() > 0 {
		return false, fmt.Errorf("lock %s: it is no lock file: remove it if nothing needs it", name)
	}
	opened, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return os.SameFile(there, opened), nil
}

// Release removes the file and releases the lock. A file that can't be removed does no harm: the
// next Acquire takes it.
func (g *Guard) Release() {
	if runtime.GOOS == "windows" { // no open file is removed there, so never a locked one
		_ = g.file.Close()
		_ = os.Remove(g.file.Name())
		return
	}
	_ = os.Remove(g.file.Name()) // while it is locked: afterwards it may belong to another holder
	_ = g.file.Close()
}
