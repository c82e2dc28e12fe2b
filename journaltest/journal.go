package journaltest

import (
	"context"
	"iter"
)

// Journal is the journal under test. Its methods may be called concurrently.
type Journal interface {
	// Recover calls the handler with the events of a persistence id, and returns a writer that
	// continues after the last one. It stops at the handler's first error, and returns it. After
	// the new writer has written, an earlier writer of the id must not be able to write.
	Recover(ctx context.Context, persistenceID string, replay Replay, handler func(Event) error) (Writer, error)
	// Events returns the events of a window in the order of their sequence numbers.
	Events(ctx context.Context, persistenceID string, window Window) iter.Seq2[Event, error]
	// Bounds returns the lowest and the highest sequence number.
	Bounds(ctx context.Context, persistenceID string) (Bounds, error)
}

// Writer is a writer of one persistence id of the journal under test.
type Writer interface {
	// Append writes events as one atomic write, and returns the first and the last of their
	// sequence numbers.
	Append(ctx context.Context, events ...[]byte) (first, last int64, err error)
	// AppendEach writes events one after the other, and returns the sequence number of each event,
	// or 0 for an event that was not written. It returns the first error that occurred.
	AppendEach(ctx context.Context, events ...[]byte) ([]int64, error)
	// DeleteTo deletes all events up to a sequence number, or up to the highest number if that is
	// lower.
	DeleteTo(ctx context.Context, sequenceNumber int64) error
	// Purge removes the persistence id. The writer may be unusable afterwards.
	Purge(ctx context.Context) error
	// NextSequenceNumber returns the number of the next event.
	NextSequenceNumber(ctx context.Context) (int64, error)
}

// Event is an event that was read.
type Event struct {
	SequenceNumber int64
	// Payload is the appended payload.
	Payload []byte
}

// Window limits Events. The zero Window selects all events.
type Window struct {
	// From and To are the first and the last sequence number. 0 means the first and the last
	// existing one.
	From, To int64
	// Limit is the maximum number of events, or nil.
	Limit *int64
}

// Replay limits the replay of Recover. The zero Replay replays all events.
type Replay struct {
	// After is the sequence number after which the replay starts. If the journal is shorter,
	// Recover fails and changes nothing.
	After int64
	// Snapshot is the sequence number of the snapshot that the state came from. The replay starts
	// after it. If the journal is empty, the writer continues after it.
	Snapshot int64
	// JournalLost lets the writer continue after Snapshot even if the journal is shorter.
	JournalLost bool
	// To is the last sequence number to replay. 0 means the last existing one.
	To int64
	// Limit is the maximum number of events to replay, or nil.
	Limit *int64
}

// Bounds are the sequence numbers of a persistence id.
type Bounds struct {
	// Lowest is the first sequence number that is not deleted, or 0 if no event was ever deleted.
	Lowest int64
	// Highest is the highest sequence number that is taken, even if its event is deleted, or 0 if
	// no number was ever taken.
	Highest int64
}
