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

// Engine is a DynamoDB of its own. All methods may be called from any goroutine.
type Engine struct {
	store   *storage.Store
	options options
	locks   itemLocks
	count   operationCounters
	parser  *expression.Parser
	faults  injector
	// statements remembers parsed PartiQL.
	statements *expression.Cache[*partiql.Statement]

	// open is held shared by every request, and exclusively to close.
	open   sync.RWMutex
	closed bool

	// background counts the engine's own goroutines; stop ends them.
	background sync.WaitGroup
	stop       chan struct{}
	sweeping   sync.Once

	// tablesLock guards the map and nextTable, not the tables. Whoever holds it waits for no
	// table's lock.
	tablesLock sync.RWMutex
	tables     map[string]*table
	nextTable  uint32
}

// OpenMemory opens an empty engine whose data lives in memory until Close.
func OpenMemory(opts ...Option) (*Engine, error) {
	store, err := storage.OpenMemory()
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return start(store, opts)
}

// Open opens the engine whose data is in the folder dir, made if it does not exist. What a request
// was answered is on disk, also if the process or the machine dies right after. A folder is open in
// one engine at a time, which the error says if it is in use; a folder written by a version that
// this one does not know, that holds other files, or whose files are damaged, is refused.
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
	o := options{clock: time.Now, sweep: time.Minute, sleep: sleep}
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
		statements: expression.NewCache(keptStatements, partiql.Parse),
		stop:       make(chan struct{}),
		tables:     map[string]*table{},
		faults:     injector{seed: o.seed, now: o.clock, ending: make(chan struct{})},
	}
	if err := e.loadTables(); err != nil {
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

// Err returns the error that has ended the engine, which matches ErrStorageFailed, and nil while
// its storage is sound.
func (e *Engine) Err() error {
	if err := e.store.Err(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// Failed returns a channel that is closed when the engine's storage fails. Err says why.
func (e *Engine) Failed() <-chan struct{} { return e.store.Failed() }

// Close waits for the requests under way, stops the engine's goroutines and closes its storage.
// Requests that come later fail with ErrClosed. A second Close does nothing.
//
// Closing an engine whose storage has failed returns that error again. The folder can then be
// opened again, but memory and a few goroutines that wait in the failed storage are only given back
// with the process.
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
		err = closing // the error of a storage that has failed is the one of everything after
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// enter begins a use of the storage, which leave ends. It fails once the engine is closed or its
// storage has failed.
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
