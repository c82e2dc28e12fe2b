// Package payloads looks after the payloads that serialization.External keeps in a store: it finds
// those to which no event, snapshot or durable state refers.
//
// A payload is put before what refers to it is written. So these leave payloads behind: an append
// that fails or is killed in between, a deletion, a purge, a snapshot that is replaced.
package payloads

import (
	"context"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// Store is a store that can also list and delete what it has. It must be safe for concurrent use.
type Store interface {
	// PayloadStore puts and gets payloads.
	serialization.PayloadStore
	// List returns all that is stored, in any order. An error ends it.
	List(ctx context.Context) iter.Seq2[Stored, error]
	// Delete removes what is stored at a key. It is no error if there is nothing.
	Delete(ctx context.Context, key string) error
}

// Stored is a payload in a store.
type Stored struct {
	Key   string
	Bytes int64
	// Time is when it was put, by the clock of the store.
	Time time.Time
}
