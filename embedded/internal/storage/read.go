package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Reader reads a state of the store: its newest, or a snapshot's.
type Reader struct {
	source  pebble.Reader
	failure *failure
}

// failed keeps an error of reading as that of the store, and returns the one that is kept.
func (r Reader) failed(what string, err error) error { return r.failure.set(what, err) }

// Get hands the value of key to use, which must not keep it, and reports whether there is one.
func (r Reader) Get(key []byte, use func(value []byte) error) (bool, error) {
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

// Iterate starts an iterator over the keys from lower, included, to upper, excluded, as they are
// now. It must be closed.
func (r Reader) Iterate(lower, upper []byte) (*Iterator, error) {
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

// Close ends the snapshot.
func (s *Snapshot) Close() error {
	if err := s.snapshot.Close(); err != nil {
		return fmt.Errorf("closing a snapshot: %w", err)
	}
	return nil
}

// Iterator walks keys in either direction. The first call is First or Last. It is for one
// goroutine.
type Iterator struct {
	it   *pebble.Iterator
	from Reader
}

// First goes to the lowest key and reports whether there is one.
func (i *Iterator) First() bool { return i.it.First() }

// Last goes to the highest key and reports whether there is one.
func (i *Iterator) Last() bool { return i.it.Last() }

// Next goes to the next higher key and reports whether there is one.
func (i *Iterator) Next() bool { return i.it.Next() }

// Prev goes to the next lower key and reports whether there is one.
func (i *Iterator) Prev() bool { return i.it.Prev() }

// Key returns the present key, valid until the iterator moves.
func (i *Iterator) Key() []byte { return i.it.Key() }

// Value returns the present value, valid until the iterator moves.
func (i *Iterator) Value() ([]byte, error) {
	value, err := i.it.ValueAndErr()
	if err != nil {
		return nil, i.from.failed("reading a value", err)
	}
	return value, nil
}

// Close ends the iterator and returns the error that stopped it, if one did.
func (i *Iterator) Close() error {
	if err := i.it.Close(); err != nil {
		return i.from.failed("iterating", err)
	}
	return nil
}
