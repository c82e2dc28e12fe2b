package storage

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// ErrFailed reports that the storage has failed: a file could not be written, synced or read, or is
// damaged.
var ErrFailed = errors.New("the storage failed")

// FailedError is the first error of a store's files. It matches [ErrFailed].
type FailedError struct {
	// Dir is the store's folder.
	Dir string
	// What describes the action that failed, and its file.
	What string
	// Cause is the error of the action.
	Cause error
}

// Error returns the error on one line, with advice.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%v in the folder %s: %s: %s; %s, then open the folder again",
		ErrFailed, e.Dir, e.What, reason(e.Cause), e.advice())
}

// advice returns the action to take before the folder is opened again.
func (e *FailedError) advice() string {
	switch {
	case errors.Is(e.Cause, syscall.ENOSPC), errors.Is(e.Cause, syscall.EDQUOT):
		return "free space on its disk"
	case errors.Is(e.Cause, syscall.EROFS), errors.Is(e.Cause, os.ErrPermission):
		return "let this user write to it"
	case errors.Is(e.Cause, syscall.ENOTDIR):
		return "give the path of a folder, not of a file"
	case errors.Is(e.Cause, syscall.EMFILE), errors.Is(e.Cause, syscall.ENFILE):
		return "allow more open files"
	default:
		return "repair its disk or use a copy of the folder"
	}
}

// Unwrap returns ErrFailed and the cause.
func (e *FailedError) Unwrap() []error { return []error{ErrFailed, e.Cause} }

// Permanent reports that retries can't succeed.
func (e *FailedError) Permanent() bool { return true }

// reason returns the error on one line, without the name of its file.
func reason(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return firstLine(err.Error())
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// failure records the first error of a store.
type failure struct {
	dir  string
	once sync.Once
	// done is closed when err is set.
	done chan struct{}
	err  *FailedError

	parking sync.Once
	// parked is closed when the first goroutine is parked.
	parked chan struct{}
}

func newFailure(dir string) *failure {
	return &failure{dir: dir, done: make(chan struct{}), parked: make(chan struct{})}
}

// set records the error if it is the first one, and returns the first error.
func (f *failure) set(what string, cause error) error {
	f.once.Do(func() {
		f.err = &FailedError{Dir: f.dir, What: what, Cause: cause}
		close(f.done)
	})
	return f.err
}

// get returns the error, or nil if the store has not failed.
func (f *failure) get() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// park blocks the calling goroutine forever.
func (f *failure) park() {
	f.parking.Do(func() { close(f.parked) })
	select {}
}

// Infof ignores Pebble's messages.
func (f *failure) Infof(string, ...any) {}

// Errorf ignores errors after which Pebble continues.
func (f *failure) Errorf(string, ...any) {}

// Fatalf fails the store and never returns, which Pebble relies on. A panic would stop the whole
// program, because most callers are Pebble's goroutines. Deferred functions would then unlock
// mutexes that are not locked.
func (f *failure) Fatalf(format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = err.Error() // Pebble's %+v would print the stack
		}
	}
	//nolint:err113 // Pebble provides only a text
	_ = f.set("running Pebble", errors.New(firstLine(fmt.Sprintf(format, args...))))
	f.park()
}
