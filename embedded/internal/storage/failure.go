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

// FailedError is the first error of a store's files. It matches ErrFailed.
type FailedError struct {
	// Dir is the store's folder.
	Dir string
	// What was being done, and to which file.
	What string
	// Cause is why it could not be done.
	Cause error
}

// Error is one line, whatever the cause holds.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%v in the folder %s: %s: %s; %s, then open the folder again",
		ErrFailed, e.Dir, e.What, reason(e.Cause), e.advice())
}

// advice returns what to do before the folder is opened again.
func (e *FailedError) advice() string {
	switch {
	case errors.Is(e.Cause, syscall.ENOSPC), errors.Is(e.Cause, syscall.EDQUOT):
		return "make room on its disk"
	case errors.Is(e.Cause, syscall.EROFS), errors.Is(e.Cause, os.ErrPermission):
		return "let this user write to it"
	case errors.Is(e.Cause, syscall.EMFILE), errors.Is(e.Cause, syscall.ENFILE):
		return "allow more open files"
	default:
		return "repair its disk or take a copy of the folder"
	}
}

// Unwrap returns ErrFailed and the cause.
func (e *FailedError) Unwrap() []error { return []error{ErrFailed, e.Cause} }

// Permanent reports that no further attempt can succeed.
func (e *FailedError) Permanent() bool { return true }

// reason returns the error in one line, without the name of the file, which is named already.
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

// failure keeps the first error of a store. It is set once; nothing is served after.
type failure struct {
	dir  string
	once sync.Once
	// done is closed when err is set.
	done chan struct{}
	err  *FailedError

	parking sync.Once
	// parked is closed when the first goroutine is stopped for good.
	parked chan struct{}
}

func newFailure(dir string) *failure {
	return &failure{dir: dir, done: make(chan struct{}), parked: make(chan struct{})}
}

// set keeps the error unless there is one already, and returns the one that is kept.
func (f *failure) set(what string, cause error) error {
	f.once.Do(func() {
		f.err = &FailedError{Dir: f.dir, What: what, Cause: cause}
		close(f.done)
	})
	return f.err
}

// get returns the error that is kept, nil if there is none.
func (f *failure) get() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// park stops the calling goroutine for good.
func (f *failure) park() {
	f.parking.Do(func() { close(f.parked) })
	select {}
}

// Infof drops what Pebble reports of its daily work.
func (f *failure) Infof(string, ...any) {}

// Errorf drops errors that Pebble goes on from.
func (f *failure) Errorf(string, ...any) {}

// Fatalf ends the store. Pebble relies on it not to return. A panic would end the whole program, as
// most callers run on Pebble's goroutines, and deferred functions would unlock what is not locked.
func (f *failure) Fatalf(format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = err.Error() // with %+v it would print its stack
		}
	}
	//nolint:err113 // the text is all that Pebble hands over
	_ = f.set("working on it", errors.New(firstLine(fmt.Sprintf(format, args...))))
	f.park()
}
