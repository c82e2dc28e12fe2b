package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Reader reads a state of the store: the newest state, or the state of a snapshot.
type Reader struct {
	source  pebble.Reader
	written *writtenKeys
	failure *failure
}

// failed fails the store with a read error, and returns the first error of the store.
func (r Reader) failed(what string, err error) error { return r.failure.set(what, err) }

// Get calls use with the value of key, and reports whether the key exists. use must not retain the
// value.
func (r Reader) Get(key []byte, use func(value []byte) error) (bool, error) {
	if !r.written.has(key) {
		return false, nil
	}
	value, closer, err := r.source.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, r.failed("reading a key", err)
	}
	err = use(value)
	if closing := closer.Close(); closing != nil && err == nil {
		err = r.failed("reading a key", closing)
	}
	return true, err
}

// Iterate returns an iterator over the keys from lower, inclusive, to upper, exclusive. It must be
// closed.
func (r Reader) Iterate(lower, upper []byte) (*Iterator, error) {
	if !r.written.hasBetween(lower, upper) {
		return &Iterator{from: r}, nil
	}
	it, err := r.source.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, r.failed("starting an iterator", err)
	}
	return &Iterator{it: it, from: r}, nil
}

// Snapshot is a fixed state of the store.
type Snapshot struct {
	Reader

	snapshot *pebble.Snapshot
}

// Close closes the snapshot.
func (s *Snapshot) Close() error {
	if err := s.snapshot.Close(); err != nil {
		return fmt.Errorf("closing a snapshot: %w", err)
	}
	return nil
}

// Iterator iterates over keys in either direction. The first call must be First or Last. It is not
// safe for concurrent use.
type Iterator struct {
	it   *pebble.Iterator // nil if there are no keys
	from Reader
}

// First moves to the lowest key, and reports whether it exists.
func (i *Iterator) First() bool { return i.it != nil && i.it.First() }

// Last moves to the highest key, and reports whether it exists.
func (i *Iterator) Last() bool { return i.it != nil && i.it.Last() }

// Next moves to the next higher key, and reports whether it exists.
func (i *Iterator) Next() bool { return i.it.Next() }

// Prev moves to the next lower key, and reports whether it exists.
func (i *Iterator) Prev() bool { return i.it.Prev() }

// Key returns the current key, which is valid until the iterator moves.
func (i *Iterator) Key() []byte { return i.it.Key() }

// Value returns the current value, which is valid until the iterator moves.
func (i *Iterator) Value() ([]byte, error) {
	value, err := i.it.ValueAndErr()
	if err != nil {
		return nil, i.from.failed("reading a value", err)
	}
	return value, nil
}

// Close closes the iterator, and returns the error that stopped it, if any.
func (i *Iterator) Close() error {
	if i.it == nil {
		return nil
	}
	if err := i.it.Close(); err != nil {
		return i.from.failed("iterating", err)
	}
	return nil
}
