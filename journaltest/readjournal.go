package journaltest

import (
	"context"
	"iter"
)

// ReadJournal is the read journal under test. Its methods may be called concurrently, and the
// returned iterators used more than once.
type ReadJournal interface {
	// CurrentIDs lists the persistence ids that have events, or had some that were deleted. It does
	// not list purged ones.
	CurrentIDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// IDs lists these, and then new ones as they appear, until ctx ends.
	IDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// CurrentEvents returns the present events from one sequence number to another; 0 is the first
	// and the last there is. It returns no part of an atomic write that is not whole.
	CurrentEvents(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
	// Events returns the present events, and then new ones as they are written, until the last one
	// wanted or until ctx ends. With to 0 there is no last one.
	Events(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
}

// IDs selects persistence ids. The zero value selects all.
type IDs struct {
	// After is the id to start after, the last one of an earlier listing with the same options.
	After string
	// Limit is the maximum number of ids; 0 is no limit.
	Limit int
	// Prefix is the common prefix of the ids.
	Prefix string
	// Sorted lists in the order of the ids' bytes.
	Sorted bool
}
