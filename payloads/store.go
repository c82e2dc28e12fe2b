// Package payloads finds leftovers among the payloads that [serialization.External] puts in a
// store: payloads that no event, snapshot or durable state refers to.
//
// A payload is put before the item that refers to it is written. So an append that fails or is
// killed in between leaves a payload behind. So do deletions, purges, and snapshots that are
// replaced.
package payloads

import (
	"context"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// Store is a payload store that can also list and delete its payloads. It must be safe for
// concurrent use.
type Store interface {
	// PayloadStore puts and gets payloads.
	serialization.PayloadStore
	// List returns all stored payloads, in any order. It ends after an error.
	List(ctx context.Context) iter.Seq2[Stored, error]
	// Delete removes the payload at a key. It is not an error if nothing is stored there.
	Delete(ctx context.Context, key string) error
}

// Stored is a payload in a store.
type Stored struct {
	Key   string
	Bytes int64
	// Time is when the payload was put, by the clock of the store.
	Time time.Time
}
