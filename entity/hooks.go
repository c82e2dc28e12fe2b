package entity

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal"
)

// Hook has functions that are called when something happens to entities. Each may be nil. They are
// called from many goroutines at once. They must not block or panic, and must not use the entities
// that call them.
type Hook struct {
	// OnCommand is called when a command has ended. ctx is that of the command.
	OnCommand func(ctx context.Context, command Command)

	// OnConflict is called when another writer was faster than a write.
	OnConflict func(conflict Conflict)

	// OnDrop is called when an entity was dropped from memory.
	OnDrop func(persistenceID string)

	// OnRecovery is called when an entity was loaded, or has caught up with other writers.
	OnRecovery func(recovery Recovery)

	// OnSnapshot is called when a snapshot was saved, or could not be.
	OnSnapshot func(snapshot Snapshot)

	// OnWrite is called when a write has ended.
	OnWrite func(write Write)
}

// Command is a command that has ended.
type Command struct {
	PersistenceID string
	Receipt       Receipt
	// Attempts is how often the command was decided.
	Attempts int
	// Duration is the time since the call.
	Duration time.Duration
	// Err is the error of the command, nil if it has none.
	Err error
}

// Conflict is a write whose number another writer has taken.
type Conflict struct {
	PersistenceID string
	// Commands is how many commands are decided again because of it.
	Commands int
	Err      error
}

// Recovery is a loading of an entity.
type Recovery struct {
	PersistenceID string
	// Snapshot is the number of the snapshot that it began with, 0 if none. Events is how many
	// events were replayed after that.
	Snapshot int64
	Events   int64
	// Version is the version that was found.
	Version int64
	// Duration is how long it took, with the wait for Options.MaxRecoveries.
	Duration time.Duration
	Err      error
}

// Snapshot is a snapshot that was saved, or could not be.
type Snapshot struct {
	PersistenceID string
	Version       int64
	// DeletedSnapshots is how many older snapshots were deleted after it. DeletedTo is the number
	// up to which the events are deleted because of it, 0 if none are.
	DeletedSnapshots, DeletedTo int64
	Duration                    time.Duration
	// Err is the first error of saving it, and of deleting older snapshots and events.
	Err error
}

// Write is a write that has ended.
type Write struct {
	PersistenceID string
	// Commands is how many commands have recorded its events.
	Commands, Events int
	// Version is the number of its last event, 0 if it has failed.
	Version  int64
	Duration time.Duration
	Cost     dynajournal.Cost
	Err      error
}
