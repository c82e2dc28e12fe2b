// Package history is the form in which the history of a persistence id is exported and imported: a
// stream of records in the order of their sequence numbers, without gaps, and independent of keys,
// shards and journal names.
package history

// Kind is the kind of a Record.
type Kind uint8

// The kinds of records.
const (
	// LowMark records that every number below SequenceNumber is deleted. It comes first, if there
	// is one, and again if the low mark has moved while the history was being read. BatchFirst,
	// BatchLast and WriterUUID identify the atomic write that it cuts, if any: the members from
	// SequenceNumber on still count.
	LowMark Kind = iota + 1
	// Event is the event at SequenceNumber.
	Event
	// Closed records that the numbers from SequenceNumber to Last are taken, and hold nothing:
	// seals, holes, and members of atomic writes that were never whole.
	Closed
	// Deleted records that the numbers from SequenceNumber to Last, all below the low mark, were
	// deleted, and stay taken for the fence window.
	Deleted
)

// Record is a part of a history.
type Record struct {
	Kind Kind
	// SequenceNumber is that of the event, the first of a span, or the value of the low mark.
	SequenceNumber int64
	// Last is the last number of a span.
	Last int64

	// WriterUUID, Manifest (of the event adapter), SerializerID, SerializerManifest and Bytes are
	// those of the event as stored.
	WriterUUID, Manifest string
	SerializerID         int32
	SerializerManifest   string
	Bytes                []byte
	// Time is when the event was written, in microseconds since 1970, or 0. Metadata and Tags, in
	// ascending order, are what the program stored with it, or nil.
	Time     int64
	Metadata map[string]string
	Tags     []string
	// BatchFirst and BatchLast are the numbers of the first and the last member of the event's
	// atomic write, or 0 for a single event.
	BatchFirst, BatchLast int64
	// Behind is the last number that was deleted because a snapshot has the state, in a low mark.
	Behind int64
	// Purged is the highest number that a purge has taken, in a low mark. The numbers after it are
	// of the present life of the persistence id. 0 is none.
	Purged int64
}

// HasMetadata reports whether an event has a time, metadata or tags.
func (r *Record) HasMetadata() bool { return r.Time != 0 || len(r.Metadata) > 0 || len(r.Tags) > 0 }
