package dynajournal

import (
	"fmt"
)

// EventMetadata selects whether a journal stores the time of each event, and the metadata and tags
// of [NewEvent]. They are attributes of the event's item, which a JVM plug-in ignores, and count in
// its size: the time takes 13 bytes. They are read wherever they are stored.
type EventMetadata int

const (
	// EventMetadataAuto stores them in a native journal, and not in one that is shared with a JVM,
	// nor with Config.OldEventFormat.
	EventMetadataAuto EventMetadata = iota
	// EventMetadataOn stores them, also in a journal that is shared with a JVM. With
	// Config.OldEventFormat it is an error, as that format has no place for them.
	EventMetadataOn
	// EventMetadataOff stores none. Events with metadata or tags are rejected.
	EventMetadataOff
)

// String returns auto, on or off, and another text for a value that is none of the constants.
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

// metadataStored reports whether a journal stores metadata. shared reports whether a JVM may use
// it.
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
// PartiQL's BatchExecuteStatement. Capacity, fencing and what is stored are the same either way.
type GroupCommit int

const (
	// GroupCommitAuto shares requests unless the service refuses them, because it lacks PartiQL or
	// denies access (dynamodb:PartiQLInsert). The journal then logs that, and continues with a
	// PutItem for each event. If access was denied, it tries a shared request again after 1 minute,
	// and then after longer pauses up to 1 hour.
	GroupCommitAuto GroupCommit = iota
	// GroupCommitOff sends a PutItem for each event.
	GroupCommitOff
)

// String returns auto or off, and another text for a value that is none of the constants.
func (g GroupCommit) String() string {
	switch g {
	case GroupCommitAuto:
		return "auto"
	case GroupCommitOff:
		return "off"
	}
	return fmt.Sprintf("GroupCommit(%d)", int(g))
}
