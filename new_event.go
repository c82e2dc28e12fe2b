package dynajournal

// MaxMetadataBytes is the largest size of an event's metadata, all keys and values together, and of
// its tags, in bytes.
const MaxMetadataBytes = 2048

// NewEvent is an event to be appended that has metadata or tags. [Writer.Append] and
// [Writer.AppendEach] take it among their arguments, where a value alone has none.
//
// A journal that stores no metadata (see Config.EventMetadata) rejects it.
type NewEvent struct {
	// Value is the event itself. It is encoded like a value that is an argument of Append.
	Value any
	// Metadata is stored beside the event, for example a trace context or a tenant. Keys must not
	// be empty. Those that begin with "dj." are this project's, and are rejected. It has at most
	// [MaxMetadataBytes].
	Metadata map[string]string
	// Tags are names by which readers select events. They must not be empty. A tag that is named
	// twice is stored once. They have at most [MaxMetadataBytes].
	Tags []string
}
