package simulate_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/dynajournal/dynajournal/embedded"
)

var storageFaults = flag.Duration("simulate.storage", 0, "how often to fail a call of the file system below the engine meanwhile; 0 is never")

// restarted is an engine that is reopened after its storage has failed. It is the HTTP client of
// the journals.
type restarted struct {
	*testing.T

	open func(vfs.FS) (*embedded.Engine, error)
	// restarts counts the engines whose storage has failed.
	restarts int

	mu     sync.Mutex
	engine *embedded.Engine
	files  *fullDisk
}

// fullDisk is a file system that fails when it is full.
type fullDisk struct {
	// room is how many calls can change a file before the disk is full; 0 is no limit.
	room atomic.Int64
	full atomic.Bool
}

// MaybeError fails a call.
func (d *fullDisk) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if d.room.Load() > 0 && d.room.Add(-1) == 0 {
		d.full.Store(true)
	}
	if !d.full.Load() {
		return nil
	}
	return &os.PathError{Op: "change", Path: op.Path, Err: syscall.ENOSPC}
}

// String returns its name in errors.
func (d *fullDisk) String() string { return "a full disk" }

// start opens the engine on files with free space.
func (r *restarted) start() error {
	files := &fullDisk{}
	engine, err := r.open(errorfs.Wrap(vfs.Default, files))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine, r.files = engine, files
	return err
}

// current returns the open engine.
func (r *restarted) current() *embedded.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine
}

// Do sends a request to the open engine.
func (r *restarted) Do(request *http.Request) (*http.Response, error) {
	return r.current().Transport().RoundTrip(request)
}

// failAndRestart fills the disk again and again until stop is closed, and each time reopens the
// engine with free space.
func (r *restarted) failAndRestart(stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(3, 3))
	for {
		select {
		case <-time.After(*storageFaults):
		case <-stop:
			return
		}
		r.files.room.Store(1 + random.Int64N(300))
		<-r.current().Failed()
		if err := r.current().Close(); !errors.Is(err, embedded.ErrStorageFailed) {
			r.Errorf("the engine was closed with the error %v", err)
		}
		if err := r.start(); err != nil {
			r.Error(err)
			return
		}
		r.restarts++
	}
}
