package private

import "github.com/dynajournal/dynajournal/serialization"

// What the test kit of package entity needs of it. Package entity sets the variables. They take
// values of its types as any, as those of the root do.
var (
	// CheckType returns an error if an *entity.Type can't be used.
	CheckType func(kind any) error

	// CheckEntityID returns an error if no entity can have an id.
	CheckEntityID func(id string) error

	// ReadCommandOptions returns what a []entity.CommandOption asks for, or the error that a
	// command with these options gets.
	ReadCommandOptions func(opts any) (CommandOptions, error)

	// OpenSnapshot returns the state of a stored snapshot of an entity, and how many ids of
	// commands the snapshot has. It reports false if the snapshot is the state alone, or can't be
	// read.
	OpenSnapshot func(stored serialization.Payload) (state serialization.Payload, ids int, ok bool)

	// InsideCommand reports whether the calling goroutine decides a command.
	InsideCommand func() bool
)

// CommandOptions are the options of one command.
type CommandOptions struct {
	// ID is that of entity.CommandID, empty if it has none.
	ID string
	// At is the version that entity.At demands, nil if it demands none.
	At *int64
	// Receipt is the *entity.Receipt of entity.Into, nil if it has none.
	Receipt any
}
