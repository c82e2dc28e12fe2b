package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch collects changes that are applied together. It is not safe for concurrent use. Commit
// returns the error of the first change that failed.
type Batch struct {
	batch *pebble.Batch
	store *Store
	err   error
}

// Set sets the value of key. Both are copied.
func (b *Batch) Set(key, value []byte) {
	b.store.written.add(key)
	b.note(b.batch.Set(key, value, nil))
}

// Delete removes key.
func (b *Batch) Delete(key []byte) {
	b.note(b.batch.Delete(key, nil))
}

// DeleteRange removes the keys from lower, inclusive, to upper, exclusive.
func (b *Batch) DeleteRange(lower, upper []byte) {
	b.note(b.batch.DeleteRange(lower, upper, nil))
}

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Commit applies the changes. When it returns nil, they are synced to disk (if the store has a
// folder). Concurrent commits share syncs. After an error that matches ErrFailed, the changes may
// or may not be on disk.
func (b *Batch) Commit() error {
	if b.err != nil {
		return errors.Join(fmt.Errorf("adding changes: %w", b.err), b.Discard())
	}
	done, err := b.store.commit(b.batch)
	switch {
	case !done:
		return fmt.Errorf("committing: %w", err)
	case err != nil:
		return errors.Join(fmt.Errorf("committing: %w", err), b.Discard())
	}
	return b.Discard()
}

// Discard drops the changes.
func (b *Batch) Discard() error {
	if err := b.batch.Close(); err != nil {
		return fmt.Errorf("discarding a batch: %w", err)
	}
	return nil
}
