package journaltest

import (
	"context"
	"iter"
)

// ReadJournal is the read journal under test. Its methods may be called concurrently, and the
// returned iterators may be used more than once.
type ReadJournal interface {
	// CurrentIDs lists the persistence ids that have events, or that had events which were deleted.
	// It does not list purged ids.
	CurrentIDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// IDs lists the same ids, and then new ids as they appear, until ctx ends.
	IDs(ctx context.Context, opts IDs) iter.Seq2[string, error]
	// CurrentEvents returns the present events from one sequence number to another; 0 means the
	// first and the last existing one. It does not return parts of an incomplete atomic write.
	CurrentEvents(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
	// Events returns the present events from the number from on, and then new events as they are
	// written, up to the number to or until ctx ends. If to is 0, there is no last event.
	Events(ctx context.Context, persistenceID string, from, to int64) iter.Seq2[Event, error]
}

// IDs selects persistence ids. The zero value selects all.
type IDs struct {
	// After is the id to start after, the last one of an earlier listing with the same options.
	After string
	// Limit is the maximum number of ids. 0 means no limit.
	Limit int
	// Prefix is the common prefix of the ids.
	Prefix string
	// Sorted lists the ids in the order of their bytes.
	Sorted bool
}
