package legacy

import "github.com/dynajournal/dynajournal"

// Event is a stored event. [dynajournal.Decode] decodes its Event.
//
// Events in a journal of 0.3 have no WriterUUID, because their messages have none. Their strings
// are in Java's serialization (serializer id 1), which a Registry decodes as strings.
type Event struct {
	dynajournal.Event

	// Deleted reports whether the event is marked as deleted. Such events are also returned; the
	// caller decides whether to apply them.
	Deleted bool
	// Confirmations are the channels that have confirmed the event, sorted.
	Confirmations []string
}
