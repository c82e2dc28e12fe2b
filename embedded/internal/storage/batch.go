package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch gathers changes that happen all together. It is for one goroutine. The first failed change
// is kept and returned by Commit.
type Batch struct {
	batch *pebble.Batch
	store *Store
	err   error
}

// Set gives key the value. Both are copied.
func (b *Batch) Set(key, value []byte) {
	b.note(b.batch.Set(key, value, nil))
}

// Delete removes key.
func (b *Batch) Delete(key []byte) {
	b.note(b.batch.Delete(key, nil))
}

// DeleteRange removes the keys from lower, included, to upper, excluded.
func (b *Batch) DeleteRange(lower, upper []byte) {
	b.note(b.batch.DeleteRange(lower, upper, nil))
}

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Commit applies the changes; when it returns nil they are synced to disk (of a store in a folder).
// Commits that run at the same time share syncs. After an error that matches ErrFailed they may be
// on disk or not.
func (b *Batch) Commit() error {
	if b.err != nil {
		return errors.Join(fmt.Errorf("gathering changes: %w", b.err), b.Discard())
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

// Discard gives the batch up.
func (b *Batch) Discard() error {
	if err := b.batch.Close(); err != nil {
		return fmt.Errorf("ending a batch: %w", err)
	}
	return nil
}
