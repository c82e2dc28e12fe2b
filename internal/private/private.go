// Package private gives the other packages of this module access to what the root package does not
// export. The root package sets its variables. It takes values of the root's types as any, because
// it can't import the root; a value of another type panics.
package private

import (
	"context"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/states"
	"github.com/dynajournal/dynajournal/serialization"
)

var (
	// Converted returns the values of a *dynajournal.Event of ReadEvents or Recover, by its
	// upcaster or by Config.Adapter of the *dynajournal.Journal: one, several or none. It reports
	// false if there is neither.
	Converted func(ctx context.Context, journal, event any) ([]any, bool, error)

	// Connect fills in the defaults of a *dynajournal.Config, checks it, and returns the client
	// that it describes. The caller closes the client. Nothing is sent.
	Connect func(config any) (*dynamo.Client, error)

	// CloseNext seals the next sequence number of a *dynajournal.Writer, so that no write of an
	// earlier writer that is still in flight can take it. It reports false if the number is taken:
	// then the writer has ended.
	CloseNext func(ctx context.Context, writer any) (bool, error)

	// DeleteSnapshots is Journal.DeleteSnapshots of a *dynajournal.Journal, up to a sequence
	// number. before is called before each attempt of a deletion, which ends with its error.
	DeleteSnapshots func(ctx context.Context, journal any, pid string, to int64, before func() error) (int64, error)

	// EncodeEvent returns what Append of a writer of a *dynajournal.Journal takes as an argument
	// for a *dynajournal.NewEvent, and the size of what the caller determines of it, in bytes. at
	// is the time of the event if it is not zero. mark is stored with it if its ID is not empty.
	// The error is a *dynajournal.RejectedError.
	EncodeEvent func(
		ctx context.Context, journal any, pid string, event any, at time.Time, mark CommandMark,
	) (any, int, error)

	// MarkOf returns the mark of the command that has a *dynajournal.Event as its first, the zero
	// mark if the event has none.
	MarkOf func(event any) CommandMark

	// HistoryRecord returns the internal form of a *dynajournal.Record.
	HistoryRecord func(record any) *history.Record

	// Operate runs a function that sends requests as an operation of a *dynajournal.Journal, for
	// which Close waits. Errors are in their public form.
	Operate func(ctx context.Context, journal any, do func(context.Context, *dynamo.Client) error) error

	// ReadEvents passes the stored events of a *dynajournal.Journal from a sequence number on to
	// handle, each once, as a *dynajournal.Event that is not converted. It returns the number after
	// the last one that is decided for good, and the last one that is deleted.
	ReadEvents func(ctx context.Context, journal any, pid string, from int64, handle func(event any) error) (
		next, deletedTo int64, err error)

	// PartOf returns the place of a *dynajournal.Event among those that its upcaster or the adapter
	// of the journal makes of the stored one.
	PartOf func(event any) int

	// ReadItem decodes an item of a partition of a persistence id as ReadPage does. It reports
	// false if that is no event: a deleted one, or a seal. Nothing is sent.
	ReadItem func(journal any, pid string, partition int64, item dynamo.Attributes) (StoredEvent, bool, error)

	// ReadPage reads the first events of a *dynajournal.Journal from a sequence number on, at most
	// most.
	ReadPage func(ctx context.Context, journal any, pid string, from int64, most int) (Page, error)

	// Recover is Journal.Recover of a *dynajournal.Journal with *dynajournal.RecoverOptions. It
	// passes each stored event to handle as ReadEvents does, and returns a *dynajournal.Writer.
	Recover func(ctx context.Context, journal any, pid string, opts any, handle func(event any) error) (
		writer any, err error)

	// OnState runs an operation on the durable states of a *dynajournal.Journal, for the one of a
	// persistence id. It returns what the operation has cost. Errors are public ones, but for
	// states.ErrConflict.
	OnState func(
		ctx context.Context, journal any, pid string, do func(context.Context, *states.Store, *dynamo.Meter) error,
	) (dynamo.Cost, error)

	// SetClock sets the clock of a *dynajournal.Config.
	SetClock func(config any, c *clock.Clock)

	// SetRecord sets a *dynajournal.Record to its internal form.
	SetRecord func(record any, r *history.Record)

	// SettingsOf returns what a *dynajournal.Journal was opened with.
	SettingsOf func(journal any) Settings

	// StartAppend begins Append of a *dynajournal.Writer, and returns what goes on with it in any
	// goroutine. It does not wait: it returns nil if Append may have to wait for more than the
	// request with the events, or has an error. Nothing is written then.
	StartAppend func(ctx context.Context, writer any, events []any) StartedAppend

	// StoredAt returns what is stored at the numbers of a span in a *dynajournal.Journal: for each
	// item, whether it is an event.
	StoredAt func(ctx context.Context, journal any, pid string, span Span) (map[int64]bool, error)

	// Taken reports whether anything is, or was, stored at a sequence number of a
	// *dynajournal.Journal: one consistent read of an item. If it is free in a journal that is
	// shared with a JVM, the low marks are read as well. gone reports that nothing is stored at the
	// number before, either.
	Taken func(ctx context.Context, journal any, pid string, seq int64) (taken, gone bool, err error)

	// SetUpcasters replaces the upcasters of a *dynajournal.Journal for persistence ids with a
	// prefix, by the stored manifest.
	SetUpcasters func(journal any, prefix string, byManifest map[string]Upcaster)

	// SetSerialization sets the registry that decodes a *dynajournal.Event.
	SetSerialization func(event any, r *serialization.Registry)
)

// Upcaster returns the values for which a stored event is converted: one, several or none.
type Upcaster func(stored serialization.Payload) ([]any, error)

// StartedAppend is an Append that StartAppend has begun. It must not be used concurrently.
type StartedAppend interface {
	// Done returns a channel that is closed when the events have their outcomes.
	Done() <-chan struct{}
	// Succeeded reports whether all events are stored. Then Finish need not wait.
	Succeeded() bool
	// Finish is the rest of Append, and must be called once. ctx is that of Append.
	Finish(ctx context.Context) (first, last int64, cost dynamo.Cost, err error)
}

// CommandMark is stored with the first event of a command that has an id.
type CommandMark struct {
	ID string
	// Events is how many events the command has recorded.
	Events int
}

// Page is the first events from a sequence number on, in order.
type Page struct {
	Events []StoredEvent
	// Low is the first number that is not deleted, 0 if none is. It was read when all events were
	// read, or nothing was deleted meanwhile.
	Low int64
	// More reports whether there may be more events.
	More bool
	// Highest is at least the number of the last event that was read. If that is far below the
	// highest one that is stored, it is the latter. It is 0 in a native journal.
	Highest int64
}

// Span is a range of sequence numbers.
type Span struct{ First, Last int64 }

// StoredEvent is an event of a page.
type StoredEvent struct {
	SequenceNumber int64
	// Writer is the UUID of the writer.
	Writer string
	// Manifest, SerializerManifest and Tags are those of a dynajournal.Event.
	Manifest, SerializerManifest string
	Tags                         []string
	// Single reports whether the event is not a member of an atomic write.
	Single bool
	// Low is the first number that was not deleted, as known when the event was read.
	Low int64
	// Missing are the numbers before the event, and behind the one before it, at which nothing is
	// stored, and nothing was deleted. A JVM may still be writing there. There are none in a native
	// journal, where a writer closes them first.
	Missing []Span
	// Deliver passes each *dynajournal.Event that the adapter of the journal makes of it to read.
	Deliver func(ctx context.Context, read func(event any) error) error
}

// Settings are what hosts of entities and projections have to know of their journal.
type Settings struct {
	// JournalName, JournalTable, SnapshotTable and MaxItemSize are those of the configuration.
	JournalName, JournalTable, SnapshotTable string
	MaxItemSize                              int
	// Metadata reports whether events are stored with their time and metadata.
	Metadata bool
	// Shared reports whether a JVM may write to the journal.
	Shared bool
	// MaxBatchEvents and MaxBatchBytes limit an atomic write.
	MaxBatchEvents, MaxBatchBytes int
	// MaxStateBytes limits a durable state.
	MaxStateBytes int
	// Clock is the journal's clock, FenceWindow how long what is deleted leaves a trace.
	Clock       *clock.Clock
	FenceWindow time.Duration
	Logger      *slog.Logger
	// Time returns the present time, by the service's clock where the machine's is wrong.
	Time func() time.Time
	// Wall returns the time of the machine.
	Wall func() time.Time
	// Encode and Decode convert a state to and from its stored form. Resolve returns what a stored
	// form refers to.
	Encode  func(ctx context.Context, value any) (serialization.Payload, error)
	Decode  func(context.Context, serialization.Payload) (any, error)
	Resolve func(context.Context, serialization.Payload) (serialization.Payload, error)
}
