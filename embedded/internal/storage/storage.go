// Package storage keeps the engine's bytes: an ordered map from keys to values on Pebble, in a folder or in memory, with
// batches that are applied whole or not at all and are on disk when Commit returns.
package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The sizes of the cache of blocks, and of a table of what was written last, which is sorted into the others when it is full. Every
// write has to look whether its key is there, and most keys that are looked for are not: what says so of the sorted tables has to
// stay in the cache beside the blocks that are read. What is in memory anyway takes no more of it in a large table, and there are
// fewer tables to look through.
const (
	blockBytes       = 64 << 20
	folderTableBytes = 16 << 20
	memoryTableBytes = 64 << 20
	bloomBitsPerKey  = 10
)

// unsortedTables is how many tables of what was written last there are at most, the one that is being written among them.
const unsortedTables = 4

// Store is an open store. Its methods may be called from any goroutine; Close must come after the last other call.
type Store struct {
	Reader

	db    *pebble.DB
	lock  *pebble.Lock
	write *pebble.WriteOptions
}

// OpenMemory opens an empty store that lives as long as it is open.
func OpenMemory() (*Store, error) {
	options := settings(vfs.NewMem(), memoryTableBytes)
	// Nothing outlives the process, so the log would only cost time and memory.
	options.DisableWAL = true
	// Nor does it fill a disk; what is compressed would only be read again at once.
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := open("store", options)
	if err != nil {
		return nil, err
	}
	return &Store{Reader: Reader{source: db}, db: db, write: pebble.NoSync}, nil
}

// Open opens the store in the folder dir of fs, making both if need be. One store at a time can have a folder open: a
// second gets an error matching ErrInUse. A folder of a version that this package does not know, or that holds other
// files, is refused.
func Open(dir string, fs vfs.FS) (*Store, error) {
	lock, err := claim(dir, fs)
	if err != nil {
		return nil, err
	}
	db, err := openClaimed(dir, fs, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Store{Reader: Reader{source: db}, db: db, lock: lock, write: pebble.Sync}, nil
}

func openClaimed(dir string, fs vfs.FS, lock *pebble.Lock) (*pebble.DB, error) {
	if err := checkFormat(dir, fs); err != nil {
		return nil, err
	}
	options := settings(fs, folderTableBytes)
	options.Lock = lock
	return open(dir, options)
}

func settings(fs vfs.FS, tableBytes int64) *pebble.Options {
	options := &pebble.Options{
		FS:                          fs,
		CacheSize:                   blockBytes + unsortedTables*tableBytes, // Pebble takes the unsorted tables' room from the cache
		MemTableSize:                uint64(tableBytes),
		MemTableStopWritesThreshold: unsortedTables,
		L0CompactionThreshold:       4,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      silent{},
	}
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return options
}

func open(dir string, options *pebble.Options) (*pebble.DB, error) {
	db, err := pebble.Open(dir, options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", dir, err)
	}
	return db, nil
}

// NewBatch starts a batch. It must be ended by Commit or Discard.
func (s *Store) NewBatch() *Batch {
	return &Batch{batch: s.db.NewBatch(), write: s.write}
}

// Snapshot fixes the present state for reading. It must be closed.
func (s *Store) Snapshot() *Snapshot {
	snapshot := s.db.NewSnapshot()
	return &Snapshot{Reader: Reader{source: snapshot}, snapshot: snapshot}
}

// Close ends the store and gives the folder free.
func (s *Store) Close() error {
	err := s.db.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	if err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

// silent drops what Pebble tells about its daily work; what it cannot go on from still ends in a panic with its text.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("embedded storage: "+format, args...))
}
