// Package filelock prevents two processes from writing the same file. The locks belong to the
// operating system, which releases them when the process that took them ends, even if it crashes.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// ErrLocked reports that another process, or another part of this process, has the lock.
var ErrLocked = errors.New("another process is writing it")

// Lock locks an open file without waiting. The lock is released when the file is closed.
//
// Errors: [ErrLocked]; [errors.ErrUnsupported] on an operating system without such locks; other
// errors of the operating system, for example if a network file system does not support locks.
func Lock(f *os.File) error {
	if err := lock(f); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Guard is a lock on a name. Only one Guard exists for a name.
type Guard struct{ file *os.File }

// attempts limits the retries of Acquire after another holder has just released the lock.
const attempts = 100

// Acquire takes the lock on a name without waiting. It creates an empty file of that name, which
// Release removes. Its errors are errors of [Lock] and of opening the file.
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

// claim locks an open file, and reports whether the file still has the name.
func claim(f *os.File, name string) (bool, error) {
	if err := Lock(f); err != nil {
		return false, err
	}
	return isNamed(f, name)
}

// isNamed reports whether an open file still has the name. The previous holder removes the file
// when it releases the lock. A process that had already opened the file would then lock a file that
// no other process can open.
func isNamed(f *os.File, name string) (bool, error) {
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	if !there.Mode().IsRegular() || there.Size() > 0 {
		return false, fmt.Errorf("lock %s: it is not a lock file: remove it if nothing needs it", name)
	}
	opened, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return os.SameFile(there, opened), nil
}

// Release removes the file and releases the lock. A file that can't be removed is harmless: the
// next Acquire uses it.
func (g *Guard) Release() {
	if runtime.GOOS == "windows" { // an open file can't be removed there
		_ = g.file.Close()
		_ = os.Remove(g.file.Name())
		return
	}
	_ = os.Remove(g.file.Name()) // before unlocking: then another process may own the file
	_ = g.file.Close()
}
