package embedded

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// Engine implements DynamoDB within the process. Its methods may be called concurrently.
type Engine struct {
	store   *storage.Store
	options options
	locks   itemLocks
	count   operationCounters
	parser  *expression.Parser
	faults  injector
	// statements caches parsed PartiQL statements.
	statements *expression.Cache[*partiql.Statement]

	// open is held shared by every request, and exclusively by Close.
	open   sync.RWMutex
	closed bool

	// background counts the engine's goroutines. They stop when stop is closed.
	background sync.WaitGroup
	stop       chan struct{}
	sweeping   sync.Once

	// tablesLock guards the map and nextTable, not the tables. No table's lock is acquired while it
	// is held.
	tablesLock sync.RWMutex
	tables     map[string]*table
	nextTable  uint32

	// streamsLock guards the map, whose keys are ARNs, and nextStream, not the streams.
	streamsLock sync.RWMutex
	streams     map[string]*stream
	nextStream  uint32
}

// OpenMemory opens an empty engine that keeps its data in memory until Close.
func OpenMemory(opts ...Option) (*Engine, error) {
	store, err := storage.OpenMemory(partitionBytes)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return start(store, opts)
}

// Open opens an engine with its data in the folder dir, and creates the folder if it does not
// exist. Acknowledged writes are on disk, even if the process or the machine dies. Only one engine
// can have a folder open at a time. A folder is refused if it was written by an unknown version, or
// if it has damaged or foreign files.
func Open(dir string, opts ...Option) (*Engine, error) {
	fs := vfs.Default
	if given := collect(opts); given.fs != nil {
		fs = given.fs
	} else if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	store, err := storage.Open(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return start(store, opts)
}

func collect(opts []Option) options {
	o := options{clock: time.Now, sweep: time.Minute, sleep: sleep, streamShards: 1}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func start(store *storage.Store, opts []Option) (*Engine, error) {
	o := collect(opts)
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("embedded: %w", joinClose(err, store))
	}
	e := &Engine{
		store:      store,
		options:    o,
		parser:     expression.NewParser(),
		statements: expression.NewCache(maxCachedStatements, partiql.Parse),
		stop:       make(chan struct{}),
		tables:     map[string]*table{},
		streams:    map[string]*stream{},
		faults:     injector{seed: o.seed, now: o.clock, ending: make(chan struct{})},
	}
	err := e.loadTables()
	if err == nil {
		err = e.loadStreams()
	}
	if err != nil {
		close(e.stop)
		e.background.Wait()
		if closing := store.Close(); store.Err() == nil {
			err = errors.Join(err, closing)
		}
		return nil, fmt.Errorf("embedded: %w", err)
	}
	for _, f := range o.faults {
		e.inject(f)
	}
	return e, nil
}

// Err returns the storage error that stopped the engine, or nil while the storage works. The error
// matches [ErrStorageFailed].
func (e *Engine) Err() error {
	if err := e.store.Err(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// Failed returns a channel that is closed when the engine's storage fails. Err returns the error.
func (e *Engine) Failed() <-chan struct{} { return e.store.Failed() }

// Close waits for the requests in flight, stops the engine's goroutines and closes its storage.
// Later requests fail with ErrClosed. A second Close does nothing.
//
// If the storage has failed, Close returns that error. The folder can then be opened again, but
// some memory and a few goroutines that wait in the failed storage remain until the process ends.
func (e *Engine) Close() error {
	e.faults.end()
	e.open.Lock()
	defer e.open.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	close(e.stop)
	e.background.Wait()
	e.faults.removeAll()
	err := e.saveSizes()
	if closing := e.store.Close(); err == nil || closing != nil && e.store.Err() != nil {
		err = closing // after a storage has failed, all its errors are the first one
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// enter starts a use of the storage, and leave finishes it. enter fails once the engine is closed
// or its storage has failed.
func (e *Engine) enter() error {
	e.open.RLock()
	err := e.Err()
	if e.closed {
		err = ErrClosed
	}
	if err != nil {
		e.open.RUnlock()
	}
	return err
}

func (e *Engine) leave() { e.open.RUnlock() }

func (e *Engine) now() time.Time { return e.options.clock() }
