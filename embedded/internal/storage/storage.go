// Package storage keeps the engine's bytes: an ordered map from keys to values on Pebble, in a
// folder or in memory, with batches that are applied whole or not at all and are on disk when
// Commit returns.
package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The sizes of the cache of blocks, and of a table of what was written last, which is sorted into
// the others when it is full. Every write has to look whether its key is there, and most keys that
// are looked for are not: what says so of the sorted tables has to stay in the cache beside the
// blocks that are read. What is in memory anyway takes no more of it in a large table, and there
// are fewer tables to look through.
const (
	blockBytes       = 64 << 20
	folderTableBytes = 16 << 20
	memoryTableBytes = 64 << 20
	bloomBitsPerKey  = 10
)

// unsortedTables is how many tables of what was written last there are at most, the one that is
// being written among them.
const unsortedTables = 4

// Store is an open store. Its methods may be called from any goroutine; Close must come after the
// last other call.
//
// The first error of its files ends a store in a folder: [Store.Failed] is closed, every later call
// returns the same error, which matches [ErrFailed], and what was read meanwhile may have never
// been committed, so whoever hands out what was read calls [Store.WaitSynced] first.
type Store struct {
	Reader

	db    *pebble.DB
	lock  *pebble.Lock
	write *pebble.WriteOptions
	// gate is what Pebble sees of the file system, nil in memory.
	gate     *gate
	failure  *failure
	unsynced unsynced
}

// OpenMemory opens an empty store that lives as long as it is open.
func OpenMemory() (*Store, error) {
	failure := newFailure("memory")
	options := settings(vfs.NewMem(), memoryTableBytes, failure)
	// Nothing outlives the process, so the log would only cost time and memory.
	options.DisableWAL = true
	// Nor does it fill a disk; what is compressed would only be read again at once.
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := pebble.Open("store", options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in memory: %w", err)
	}
	return &Store{Reader: Reader{source: db, failure: failure}, db: db, write: pebble.NoSync, failure: failure}, nil
}

// Open opens the store in the folder dir of fs, making both if need be. One store at a time can
// have a folder open: a second gets an error matching ErrInUse. A folder of a version that this
// package does not know, that holds other files, or whose files are damaged, is refused.
func Open(dir string, fs vfs.FS) (*Store, error) {
	failure := newFailure(dir)
	g := &gate{FS: fs, failure: failure}
	s := &Store{write: pebble.Sync, gate: g, failure: failure}
	if err := s.openClaimed(dir); err != nil {
		g.abandon()
		if failed := s.Err(); failed != nil {
			return nil, failed
		}
		return nil, err
	}
	s.Reader = Reader{source: s.db, failure: failure}
	return s, nil
}

// openClaimed opens the store once it has the folder's lock.
func (s *Store) openClaimed(dir string) (err error) {
	if s.lock, err = lockFolder(dir, s.gate); err != nil {
		return err
	}
	if err := checkFormat(dir, s.gate); err != nil {
		return err
	}
	isNew, err := checkFiles(dir, s.gate)
	if err != nil {
		return err
	}
	if s.db, err = s.openPebble(dir); err != nil || !isNew {
		return err
	}
	// Pebble begins the first log of a store before it has brought the store to its newest format.
	// In such a log a chunk does not say how far the log was synced, so that damage could not be
	// told from a torn end. The log of the next opening says so.
	if err := s.closePebble(); err != nil {
		return err
	}
	s.db, err = s.openPebble(dir)
	return err
}

// openPebble opens Pebble's store. It does not wait for Pebble once that has met an error that it
// can't hand on.
func (s *Store) openPebble(dir string) (*pebble.DB, error) {
	options := settings(s.gate, folderTableBytes, s.failure)
	options.Lock = s.lock
	s.gate.opening.Store(true)
	type opening struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan opening, 1)
	go func() {
		var o opening
		defer func() {
			if cause := recover(); cause != nil {
				o.err = fmt.Errorf("it panics: %v", cause) //nolint:err113 // the panic's text is all there is
			}
			opened <- o
		}()
		o.db, o.err = pebble.Open(dir, options)
	}()
	select {
	case o := <-opened:
		if o.err == nil {
			o.err = s.Err()
		}
		if o.err != nil {
			return nil, fmt.Errorf("opening the store in %s: %s", dir, reason(o.err)) //nolint:err113 // Pebble's errors print stacks
		}
		s.gate.opened.Store(true)
		s.gate.opening.Store(false)
		return o.db, nil
	case <-s.failure.parked:
		return nil, s.Err()
	}
}

func settings(fs vfs.FS, tableBytes int64, failure *failure) *pebble.Options {
	options := &pebble.Options{
		FS:                          fs,
		CacheSize:                   blockBytes + unsortedTables*tableBytes, // Pebble takes the unsorted tables' room from the cache
		MemTableSize:                uint64(tableBytes),
		MemTableStopWritesThreshold: unsortedTables,
		L0CompactionThreshold:       4,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      failure,
		EventListener: &pebble.EventListener{
			// What fails below comes from the gate, which knows more of it and keeps the first
			// error.
			BackgroundError: func(err error) { _ = failure.set("flushing or compacting", err) },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				_ = failure.set("reading "+info.Path, info.Details)
			},
		},
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return options
}

// NewBatch starts a batch. It must be ended by Commit or Discard.
func (s *Store) NewBatch() *Batch {
	return &Batch{batch: s.db.NewBatch(), store: s}
}

// commit commits the batch, and reports whether Pebble is done with it. A commit that waits inside
// Pebble when the store fails is left behind: what it waits for may never come.
func (s *Store) commit(batch *pebble.Batch) (done bool, err error) {
	if s.gate == nil {
		return true, batch.Commit(s.write) //nolint:wrapcheck // Batch.Commit wraps it
	}
	if err := s.Err(); err != nil {
		return true, err
	}
	committed := make(chan error, 1)
	number := s.unsynced.begin()
	go func() {
		defer s.failOnPanic("committing")
		committed <- batch.Commit(s.write)
	}()
	select {
	case err := <-committed:
		if err != nil {
			return true, s.failure.set("committing", err)
		}
		s.unsynced.end(number)
		return true, nil
	case <-s.failure.done:
		return false, s.Err()
	}
}

// failOnPanic is to be deferred by a goroutine of its own.
func (s *Store) failOnPanic(what string) {
	if cause := recover(); cause != nil {
		_ = s.failure.set(what, fmt.Errorf("it panics: %v", cause)) //nolint:err113 // the panic's text is all there is
	}
}

// WaitSynced waits until everything that a reader can have seen by now is on disk, and returns the
// error of a store that has failed. Whoever hands out what was read calls it between.
func (s *Store) WaitSynced() error {
	if s.gate != nil {
		s.unsynced.wait(s.failure.done)
	}
	return s.Err()
}

// Err returns the error that has ended the store, nil while it is sound.
func (s *Store) Err() error { return s.failure.get() }

// Failed returns a channel that is closed when the store fails.
func (s *Store) Failed() <-chan struct{} { return s.failure.done }

// Snapshot fixes the present state for reading. It must be closed.
func (s *Store) Snapshot() *Snapshot {
	snapshot := s.db.NewSnapshot()
	return &Snapshot{Reader: Reader{source: snapshot, failure: s.failure}, snapshot: snapshot}
}

// Close ends the store and gives the folder free. The error of a store that has failed is returned
// again. Of such a store Pebble is left as it is, with its memory and a few goroutines that wait
// for good: its own Close would wait for them. The folder is free as soon as no call to the file
// system is under way that could change it.
func (s *Store) Close() error {
	if s.gate == nil {
		if err := s.db.Close(); err != nil {
			return fmt.Errorf("closing the store: %w", err)
		}
		return nil
	}
	err := s.closePebble()
	s.gate.abandon()
	return err
}

// closePebble closes Pebble's store unless it has failed.
func (s *Store) closePebble() error {
	if err := s.Err(); err != nil {
		return err
	}
	closed := make(chan error, 1)
	go func() {
		defer s.failOnPanic("closing")
		closed <- s.db.Close()
	}()
	select {
	case err := <-closed:
		if failed := s.Err(); failed != nil {
			return failed
		}
		if err != nil {
			return fmt.Errorf("closing the store: %w", err)
		}
		return nil
	case <-s.failure.done:
		return s.Err()
	}
}
