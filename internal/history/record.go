// Package history defines the form in which the history of a persistence id is exported and
// imported: a stream of records in the order of their sequence numbers, without gaps, and
// independent of keys, shards and journal names.
package history

// Kind is the kind of a Record.
type Kind uint8

// The kinds of records.
const (
	// LowMark records that every number below SequenceNumber is deleted. It comes first if the
	// history has a low mark, and again if the mark moves while the history is being read. If it
	// cuts an atomic write, BatchFirst, BatchLast and WriterUUID identify that write: its members
	// from SequenceNumber on are still valid.
	LowMark Kind = iota + 1
	// Event is the event at SequenceNumber.
	Event
	// Closed records that the numbers from SequenceNumber to Last are taken and have no event:
	// seals, holes, and members of incomplete atomic writes.
	Closed
	// Deleted records that the numbers from SequenceNumber to Last, all below the low mark, were
	// deleted, and stay taken for the fence window.
	Deleted
)

// Record is a part of a history.
type Record struct {
	Kind Kind
	// SequenceNumber is the number of the event, the first number of a span, or the value of the
	// low mark.
	SequenceNumber int64
	// Last is the last number of a span.
	Last int64

	// WriterUUID, Manifest (of the event adapter), SerializerID, SerializerManifest and Bytes are
	// the fields of the event as stored.
	WriterUUID, Manifest string
	SerializerID         int32
	SerializerManifest   string
	Bytes                []byte
	// Time is the time at which the event was written, in microseconds since 1970, or 0. Metadata
	// and Tags are the metadata and tags that the program stored with the event, or nil. Tags are
	// in ascending order.
	Time     int64
	Metadata map[string]string
	Tags     []string
	// BatchFirst and BatchLast are the numbers of the first and the last member of the event's
	// atomic write, or 0 for a single event.
	BatchFirst, BatchLast int64
	// Behind is set on a low mark: the last number that was deleted because a snapshot has the
	// state, or 0.
	Behind int64
	// Purged is set on a low mark: the highest number that a purge has taken, or 0. The numbers
	// after it belong to the present life of the persistence id.
	Purged int64
}

// HasMetadata reports whether an event has a time, metadata or tags.
func (r *Record) HasMetadata() bool { return r.Time != 0 || len(r.Metadata) > 0 || len(r.Tags) > 0 }
