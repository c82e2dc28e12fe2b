package journaltest

import (
	"context"
	"iter"
)

// ReadJournal is what the suite asks of a read journal. Its methods may be called from several goroutines at once, and lists
// read as often as one likes.
type ReadJournal interface {
	// CurrentIDs lists the persistence ids that have events, or had some that were deleted; purged ones are not among them.
	CurrentIDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// IDs lists them, and then new ones as they appear, until ctx ends.
	IDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// CurrentEvents reads the events that are there, from one sequence number to another; 0 is the first and the last there
	// is. Of an atomic write that is not whole it returns nothing.
	CurrentEvents(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
	// Events reads the events that are there, and then new ones as they are written, until the last one wanted has come or
	// ctx ends; to 0 has no last.
	Events(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
}

// IDs says which persistence ids to list. The zero value is all.
type IDs struct {
	// After is the id to go on after, the last one of an earlier listing in the same way.
	After string
	// Limit is how many to list at most; 0 is no limit.
	Limit int
	// Prefix is what the ids begin with.
	Prefix string
	// Sorted lists in the order of the ids' bytes.
	Sorted bool
}
