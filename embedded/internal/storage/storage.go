// Package storage stores the engine's data: an ordered map from keys to values on Pebble, in a
// folder or in memory. A batch is applied as a whole or not at all. In a folder, it is on disk when
// Commit returns.
package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The sizes of the block cache and of a memtable, which is flushed to a sorted table when it is
// full. Every write looks up its key, and most keys are new. In a folder, the filters of the sorted
// tables answer such lookups, so the filters must stay in the cache together with the blocks that
// are read. A larger memtable does not cost more memory, and leaves fewer tables to search.
const (
	blockBytes       = 64 << 20
	folderTableBytes = 16 << 20
	memoryTableBytes = 64 << 20
	bloomBitsPerKey  = 10
)

// unsortedTables is the maximum number of memtables, including the one that is being written.
const unsortedTables = 4

// Store is an open store. Its methods may be called concurrently, except Close, which must be the
// last call.
//
// A store in a folder fails with the first error of its files: [Store.Failed] is closed, and all
// later calls return the same error, which matches [ErrFailed]. Data that was read before that may
// never have been committed. So [Store.WaitSynced] must be called before data is returned to a
// client.
type Store struct {
	Reader

	db    *pebble.DB
	lock  *pebble.Lock
	write *pebble.WriteOptions
	// gate is the file system that Pebble uses. It is nil for a store in memory.
	gate     *gate
	failure  *failure
	unsynced unsynced
}

// OpenMemory opens an empty store in memory. Keys that are read together share a prefix of the
// given length in bytes. If no key with such a prefix was written, the store knows that without a
// search.
func OpenMemory(prefix int) (*Store, error) {
	failure := newFailure("memory")
	options := settings(vfs.NewMem(), memoryTableBytes, failure)
	// The data is lost with the process anyway, so a log would only cost time and memory.
	options.DisableWAL = true
	// There is no disk to fill, and compressed data would have to be decompressed soon.
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := pebble.Open("store", options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in memory: %w", err)
	}
	reader := Reader{source: db, written: newWrittenKeys(prefix), failure: failure}
	return &Store{Reader: reader, db: db, write: pebble.NoSync, failure: failure}, nil
}

// Open opens the store in the folder dir of fs, and creates both if necessary. Only one store at a
// time can have a folder open: opening it again fails with an error that matches [ErrInUse]. Open
// refuses a folder that was written by an unknown version, has other files, or has damaged files.
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

// openClaimed acquires the lock of the folder, and opens the store.
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
	// Pebble starts the first log of a store before it upgrades the store to its newest format. The
	// chunks of that log do not have the synced offset, so damage can't be distinguished from a
	// torn end. The chunks of the next log have the offset.
	if err := s.closePebble(); err != nil {
		return err
	}
	s.db, err = s.openPebble(dir)
	return err
}

// openPebble opens Pebble's store. After an error that Pebble can't return, it does not wait for
// Pebble.
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
			// Most of these errors come from the gate, which has already recorded the first one
			// with more detail.
			BackgroundError: func(err error) { _ = failure.set("flushing or compacting", err) },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				_ = failure.set("reading "+info.Path, info.Details)
			},
		},
	}
	// The default scheduler also checks for compactions ten times a second, even while the store is
	// idle. That is for several stores that share a limit. This store starts compactions only after
	// a flush, or after another compaction.
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

// commit commits the batch. done is false if the store fails while Pebble is committing: then
// Pebble may still use the batch.
func (s *Store) commit(batch *pebble.Batch) (done bool, err error) {
	if s.gate == nil {
		return true, batch.Commit(s.write)
	}
	if err := s.Err(); err != nil {
		return true, err
	}
	committed := make(chan error, 1)
	number := s.unsynced.start()
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

// WaitSynced waits until all data that a reader may have read so far is on disk. If the store has
// failed, it returns the error. It must be called before read data is returned to a client.
func (s *Store) WaitSynced() error {
	if s.gate != nil {
		s.unsynced.wait(s.failure.done)
	}
	return s.Err()
}

// Err returns the error with which the store failed, or nil while it works.
func (s *Store) Err() error { return s.failure.get() }

// Failed returns a channel that is closed when the store fails.
func (s *Store) Failed() <-chan struct{} { return s.failure.done }

// Snapshot returns a snapshot of the current state. It must be closed.
func (s *Store) Snapshot() *Snapshot {
	snapshot := s.db.NewSnapshot()
	return &Snapshot{Reader: Reader{source: snapshot, written: s.written, failure: s.failure}, snapshot: snapshot}
}

// Close closes the store and releases the folder. If the store has failed, Close returns the error.
// In this case Pebble is not closed, because it would wait forever: its memory and a few goroutines
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

// release drops the references to Pebble, so that its memory is freed even while the closed store
// is reachable. For example, a test's T refers to its cleanup functions until the whole program
// exits.
func (s *Store) release() { s.db, s.Reader = nil, Reader{} }

// closePebble closes Pebble's store. If the store has failed, it only returns the error.
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
