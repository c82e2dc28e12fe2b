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
	// OnCommand is called when a command has ended. ctx is the context of the command.
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
	// Commands is the number of commands that are decided again because of the conflict.
	Commands int
	Err      error
}

// Recovery describes how an entity was loaded, or has caught up with other writers.
type Recovery struct {
	PersistenceID string
	// Snapshot is the number of the snapshot that the recovery started from, or 0.
	// Events is the number of events that were replayed after the snapshot.
	Snapshot int64
	Events   int64
	// Version is the version of the recovered state.
	Version int64
	// Duration includes the wait for Options.MaxRecoveries.
	Duration time.Duration
	Err      error
}

// Snapshot is a snapshot that was saved, or could not be.
type Snapshot struct {
	PersistenceID string
	Version       int64
	// DeletedSnapshots is the number of older snapshots that were deleted after it.
	// DeletedTo is the number up to which events were deleted because of it, or 0.
	DeletedSnapshots, DeletedTo int64
	Duration                    time.Duration
	// Err is the first error of saving it, and of deleting older snapshots and events.
	Err error
}

// Write is a write that has ended.
type Write struct {
	PersistenceID string
	// Commands is the number of commands that have recorded its events.
	// Events is the number of events.
	Commands, Events int
	// Version is the number of its last event, 0 if it has failed.
	Version  int64
	Duration time.Duration
	Cost     dynajournal.Cost
	Err      error
}
