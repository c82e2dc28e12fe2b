package dynajournal

import (
	"fmt"
)

// EventMetadata selects whether a journal stores the time of each event and the metadata and tags
// of [NewEvent]. They are attributes of the event's item, which a JVM plug-in ignores, and count
// toward its size: the time takes 13 bytes. Wherever they are stored, readers return them.
type EventMetadata int

const (
	// EventMetadataAuto stores them in a native journal. It does not store them in a journal that
	// is shared with a JVM, or with Config.OldEventFormat.
	EventMetadataAuto EventMetadata = iota
	// EventMetadataOn stores them, even in a journal that is shared with a JVM. It is an error with
	// Config.OldEventFormat, because that format has no place for them.
	EventMetadataOn
	// EventMetadataOff does not store them. Events with metadata or tags are rejected.
	EventMetadataOff
)

// String returns auto, on or off, or EventMetadata(n) for any other value n.
func (m EventMetadata) String() string {
	switch m {
	case EventMetadataAuto:
		return "auto"
	case EventMetadataOn:
		return "on"
	case EventMetadataOff:
		return "off"
	}
	return fmt.Sprintf("EventMetadata(%d)", int(m))
}

// checkEventMetadata checks Config.EventMetadata.
func (c *Config) checkEventMetadata() error {
	const field = "Config.EventMetadata"
	if c.EventMetadata < EventMetadataAuto || c.EventMetadata > EventMetadataOff {
		const reason = "it must be EventMetadataAuto, EventMetadataOn or EventMetadataOff"
		return &ArgumentError{field, int(c.EventMetadata), reason}
	}
	if c.EventMetadata == EventMetadataOn && c.OldEventFormat {
		return &ArgumentError{field, "EventMetadataOn", "it can't be set together with Config.OldEventFormat"}
	}
	return nil
}

// metadataStored reports whether a journal stores metadata. shared says that a JVM may use the
// journal.
func (c *Config) metadataStored(shared bool) bool {
	switch c.EventMetadata {
	case EventMetadataOn:
		return true
	case EventMetadataOff:
		return false
	}
	return !shared && !c.OldEventFormat
}

// GroupCommit selects whether writers of different persistence ids share requests when many write
// at the same time, and whether an atomic write of several events is one request. Such requests are
// PartiQL's BatchExecuteStatement. Capacity, fencing and the stored items are the same either way.
type GroupCommit int

const (
	// GroupCommitAuto shares requests unless the service refuses them, because it lacks PartiQL or
	// denies access (dynamodb:PartiQLInsert). The journal then logs a warning, and continues with a
	// PutItem for each event. If access was denied, it tries a shared request again after 1 minute,
	// and then after longer pauses of up to 1 hour.
	GroupCommitAuto GroupCommit = iota
	// GroupCommitOff sends a PutItem for each event.
	GroupCommitOff
)

// String returns auto or off, or GroupCommit(n) for any other value n.
func (g GroupCommit) String() string {
	switch g {
	case GroupCommitAuto:
		return "auto"
	case GroupCommitOff:
		return "off"
	}
	return fmt.Sprintf("GroupCommit(%d)", int(g))
}
