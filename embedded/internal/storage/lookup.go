package storage

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Getter reads values by their keys.
type Getter interface {
	// Get is like [Reader.Get].
	Get(key []byte, use func(value []byte) error) (bool, error)
}

// Lookup reads several keys of one state. For two keys or more it is faster than [Reader.Get],
// especially for missing keys: it prepares the read once, and asks the filters of all files, while
// Pebble's Get reads a block of the last level. For 20 missing keys in a folder with 400,000 keys,
// it takes a quarter of the time (go test -run xxx -bench MissingKeys ./embedded/internal/storage).
// It must be closed, and is not safe for concurrent use.
type Lookup struct {
	it   *pebble.Iterator
	from Reader
}

// Lookup returns a Lookup of the state at this moment.
func (r Reader) Lookup() (*Lookup, error) {
	it, err := r.source.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, r.failed("starting to read keys", err)
	}
	return &Lookup{it: it, from: r}, nil
}

// Get is like [Reader.Get]. The key must not be empty.
func (l *Lookup) Get(key []byte, use func(value []byte) error) (bool, error) {
	if !l.from.written.has(key) {
		return false, nil
	}
	if !l.it.SeekPrefixGE(key) || !bytes.Equal(l.it.Key(), key) {
		if err := l.it.Error(); err != nil {
			return false, l.from.failed("reading a key", err)
		}
		return false, nil
	}
	value, err := l.it.ValueAndErr()
	if err != nil {
		return false, l.from.failed("reading a value", err)
	}
	return true, use(value)
}

// Close closes the lookup.
func (l *Lookup) Close() error {
	if err := l.it.Close(); err != nil {
		return l.from.failed("reading keys", err)
	}
	return nil
}
