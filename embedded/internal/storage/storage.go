// Package storage stores the engine's data: an ordered map from keys to values on Pebble, in a
// folder or in memory. Its batches are applied as a whole or not at all, and are on disk when
// Commit returns.
package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The sizes of the block cache, and of a memtable, which is sorted into the other tables when it is
// full. Every write looks up its key, and most keys are new. In a folder the filters of the sorted
// tables answer such lookups, so they must stay in the cache beside the blocks that are read. A
// larger memtable costs no more memory, and leaves fewer tables to search.
const (
	blockBytes       = 64 << 20
	folderTableBytes = 16 << 20
	memoryTableBytes = 64 << 20
	bloomBitsPerKey  = 10
)

// unsortedTables is how many memtables there are at most, including the one that is being written.
const unsortedTables = 4

// Store is an open store. Its methods may be called concurrently, except Close, which must be the
// last call.
//
// The first error of its files ends a store in a folder: [Store.Failed] is closed, and all later
// calls return the same error, which matches [ErrFailed]. What was read meanwhile may have never
// been committed, so [Store.WaitSynced] must be called before it is returned to a client.
type Store struct {
	Reader

	db    *pebble.DB
	lock  *pebble.Lock
	write *pebble.WriteOptions
	// gate is the file system that Pebble uses, nil in memory.
	gate     *gate
	failure  *failure
	unsynced unsynced
}

// OpenMemory opens an empty store in memory. Keys that are read together have the same first bytes,
// as many as prefix: the store knows without a search that there are none.
func OpenMemory(prefix int) (*Store, error) {
	failure := newFailure("memory")
	options := settings(vfs.NewMem(), memoryTableBytes, failure)
	// The data ends with the process, so a log would only cost time and memory.
	options.DisableWAL = true
	// There is no disk to fill, and compressed data would be read again at once.
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := pebble.Open("store", options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in memory: %w", err)
	}
	reader := Reader{source: db, written: newWrittenKeys(prefix), failure: failure}
	return &Store{Reader: reader, db: db, write: pebble.NoSync, failure: failure}, nil
}

// Open opens the store in the folder dir of fs, and creates both if necessary. One store at a time
// can have a folder open: opening it again fails with an error that matches ErrInUse. A folder is
// refused if it was written by an unknown version, has other files, or has damaged files.
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

// openClaimed opens the store after the lock of the folder is acquired.
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
	// Pebble begins the first log of a store before it has upgraded the store to its newest format.
	// The chunks of such a log do not have the synced offset, so that damage can't be distinguished
	// from a torn end. Those of the next log do.
	if err := s.closePebble(); err != nil {
		return err
	}
	s.db, err = s.openPebble(dir)
	return err
}

// openPebble opens Pebble's store. It does not wait for Pebble after an error that Pebble can't
// return.
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
				o.err = fmt.Errorf("panic: %v", cause) //nolint:err113 // there is only a text
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
		FS: fs,
		// The memtables are part of the cache.
		CacheSize:                   blockBytes + unsortedTables*tableBytes,
		MemTableSize:                uint64(tableBytes),
		MemTableStopWritesThreshold: unsortedTables,
		L0CompactionThreshold:       4,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      failure,
		EventListener: &pebble.EventListener{
			// Errors below come from the gate, which knows more about them and keeps the first one.
			BackgroundError: func(err error) { _ = failure.set("flushing or compacting", err) },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				_ = failure.set("reading "+info.Path, info.Details)
			},
		},
	}
	// The default scheduler also looks for compactions ten times a second, however long the store
	// is idle. That is for several stores that share a limit: the compactions of this one all
	// start after a flush, or after another compaction.
	options.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return options
}

// NewBatch returns a batch. Commit or Discard must be called.
func (s *Store) NewBatch() *Batch {
	return &Batch{batch: s.db.NewBatch(), store: s}
}

// commit commits the batch. done is false if the store fails while Pebble waits: then the batch may
// still be in use.
func (s *Store) commit(batch *pebble.Batch) (done bool, err error) {
	if s.gate == nil {
		return true, batch.Commit(s.write)
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

// failOnPanic fails the store if the goroutine panics. It must be deferred.
func (s *Store) failOnPanic(what string) {
	if cause := recover(); cause != nil {
		_ = s.failure.set(what, fmt.Errorf("panic: %v", cause)) //nolint:err113 // there is only a text
	}
}

// WaitSynced waits until everything that a reader may have read by now is on disk. It returns the
// error of a store that has failed. It must be called before returning to a client what was read.
func (s *Store) WaitSynced() error {
	if s.gate != nil {
		s.unsynced.wait(s.failure.done)
	}
	return s.Err()
}

// Err returns the error that has ended the store, nil while it works.
func (s *Store) Err() error { return s.failure.get() }

// Failed returns a channel that is closed when the store fails.
func (s *Store) Failed() <-chan struct{} { return s.failure.done }

// Snapshot returns a snapshot of the present state. It must be closed.
func (s *Store) Snapshot() *Snapshot {
	snapshot := s.db.NewSnapshot()
	return &Snapshot{Reader: Reader{source: snapshot, written: s.written, failure: s.failure}, snapshot: snapshot}
}

// Close closes the store and releases the folder. It returns the error of a store that has failed.
// In this case Pebble is not closed, as it would wait forever: its memory and a few goroutines
// remain. The folder is released as soon as no call that could change it is in progress.
func (s *Store) Close() error {
	if s.gate == nil {
		if err := s.db.Close(); err != nil {
			return fmt.Errorf("closing the store: %w", err)
		}
		s.release()
		return nil
	}
	err := s.closePebble()
	s.gate.abandon()
	if err == nil {
		s.release()
	}
	return err
}

// release drops the references to Pebble, so that its memory is free although the closed store is
// reachable. A test's T refers to its cleanup functions until the whole program ends.
func (s *Store) release() { s.db, s.Reader = nil, Reader{} }

// closePebble closes Pebble's store unless the store has failed.
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
