package journaltest

import (
	"context"
	"iter"
)

// Journal is what the suite asks of a journal. Its methods may be called from several goroutines at once.
type Journal interface {
	// Recover replays the events of a persistence id to the handler, and returns the writer that goes on behind the last
	// one. The first error of the handler ends it and is returned. An earlier writer of the id must not be able to write
	// any more once the new one has written.
	Recover(ctx context.Context, persistenceID string, replay Replay, handler func(Event) error) (Writer, error)
	// Events reads the events of a window in the order of their sequence numbers.
	Events(ctx context.Context, persistenceID string, window Window) iter.Seq2[Event, error]
	// Bounds reads the lowest and the highest sequence number.
	Bounds(ctx context.Context, persistenceID string) (Bounds, error)
}

// Writer is what the suite asks of a writer, which belongs to one persistence id.
type Writer interface {
	// Append writes events as one atomic write, and returns the first and the last of their sequence numbers.
	Append(ctx context.Context, events ...[]byte) (first, last int64, err error)
	// AppendEach writes events one after the other, and returns the sequence number of each; 0 for one that was not
	// written. The error is the first there was.
	AppendEach(ctx context.Context, events ...[]byte) ([]int64, error)
	// DeleteTo deletes all events up to a sequence number; one beyond the highest stands for that.
	DeleteTo(ctx context.Context, sequenceNumber int64) error
	// Purge removes the persistence id. The writer may be unusable afterwards.
	Purge(ctx context.Context) error
	// NextSequenceNumber is the number that the next event gets.
	NextSequenceNumber(ctx context.Context) (int64, error)
}

// Event is one event as it was read.
type Event struct {
	SequenceNumber int64
	// Payload is what was appended.
	Payload []byte
}

// Window is what Events is asked for. The zero Window is everything.
type Window struct {
	// From and To are the first and the last sequence number wanted; 0 is the first and the last there is.
	From, To int64
	// Limit is how many events to return at most; nil is no limit, 0 none.
	Limit *int64
}

// Replay is what Recover is asked to replay. The zero Replay is everything.
type Replay struct {
	// After is the sequence number of the snapshot the state came from; replay begins behind it.
	After int64
	// To is the last sequence number to replay; 0 is the last there is.
	To int64
	// Limit is how many events to replay at most; nil is no limit, 0 none.
	Limit *int64
}

// Bounds are the sequence numbers of a persistence id.
type Bounds struct {
	// Lowest is the first sequence number that is not deleted; 0 if nothing ever was.
	Lowest int64
	// Highest is the highest sequence number that is taken, by a deleted event, too; 0 if none ever was.
	Highest int64
}
