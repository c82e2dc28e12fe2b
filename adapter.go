package dynajournal

// EventAdapter converts events before they are stored and after they are read, as Akka's event
// adapters do. It keeps the types of the program apart from the stored ones, and reads what older
// versions have stored. It must be safe for concurrent use.
type EventAdapter interface {
	// ToJournal returns the value to store for an event, and a manifest to store with it. The
	// manifest may be empty. An error rejects the event.
	ToJournal(event any) (stored any, manifest string, err error)
	// FromJournal returns the events for a stored value, in order: one, several or none. All have
	// the sequence number of the stored event. An error ends the reading.
	FromJournal(stored any, manifest string) ([]any, error)
}
