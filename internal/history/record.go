// Package history is the form in which a persistence id's history leaves a journal and enters one: a stream of records in the
// order of their sequence numbers, without gaps, free of keys, shards and journal names.
package history

// Kind says what a Record is.
type Kind uint8

// The kinds of records.
const (
	// LowMark says that every number below SequenceNumber is deleted. It comes first, if there is one, and again where the low
	// mark has moved while the history was being read. BatchFirst, BatchLast and WriterUUID name the atomic write that it
	// cuts, if it cuts one: its members from SequenceNumber on count all the same.
	LowMark Kind = iota + 1
	// Event is the event at SequenceNumber.
	Event
	// Closed says that the numbers from SequenceNumber to Last are taken, and hold nothing: seals, holes, and parts of atomic
	// writes that were never whole.
	Closed
	// Deleted says that the numbers from SequenceNumber to Last, all below the low mark, were deleted, and are to be kept taken
	// for the fence window.
	Deleted
)

// Record is a part of a history.
type Record struct {
	Kind Kind
	// SequenceNumber is the event's, the first of a span, or what the low mark says.
	SequenceNumber int64
	// Last is the last of a span.
	Last int64

	// WriterUUID, Manifest (the event adapter's), SerializerID, SerializerManifest and Bytes are the event's, as stored.
	WriterUUID, Manifest string
	SerializerID         int32
	SerializerManifest   string
	Bytes                []byte
	// BatchFirst and BatchLast are the numbers of the first and the last member of the atomic write that the event belongs to;
	// both 0 for a single event.
	BatchFirst, BatchLast int64
}
