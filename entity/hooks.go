package entity

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal"
)

// Hook has functions that are called when something happens to entities. Each may be nil. They are
// called from many goroutines at once. They must not block or panic, and must not use the entities
// that call them.
//
// A function that starts something returns the context with which it continues: the context that it
// was given, or one that is derived from it, for example with a span. The requests to DynamoDB that
// serve a command have the values of this context: see [dynajournal.Hook].
type Hook struct {
	// StartCommand is called before a command waits for its turn. ctx is the context of the caller.
	// The command continues with the returned context.
	StartCommand func(ctx context.Context, command CommandStart) context.Context

	// OnCommand is called when a command has ended, with the context of StartCommand.
	OnCommand func(ctx context.Context, command Command)

	// StartWrite is called before a write is sent. If one command has recorded the events,
	// ctx has the values of the context of the command. Otherwise it has none: see
	// WriteStart.Commands. The write, its requests and OnWrite get the returned context.
	StartWrite func(ctx context.Context, write WriteStart) context.Context

	// OnWrite is called when a write has ended, with the context of StartWrite.
	OnWrite func(ctx context.Context, write Write)

	// OnConflict is called when another writer was faster than a write. ctx is the context of the
	// write.
	OnConflict func(ctx context.Context, conflict Conflict)

	// StartRecovery is called before an entity is loaded, or catches up with other writers. ctx has
	// the values of the context of the first command that waits for it, or none if a view waits for
	// it. The recovery, its requests and OnRecovery get the returned context.
	StartRecovery func(ctx context.Context, recovery RecoveryStart) context.Context

	// OnRecovery is called when an entity was loaded, or has caught up with other writers, with the
	// context of StartRecovery.
	OnRecovery func(ctx context.Context, recovery Recovery)

	// OnSnapshot is called when a snapshot was saved, or could not be. ctx has no values of a
	// command.
	OnSnapshot func(ctx context.Context, snapshot Snapshot)

	// OnDrop is called when an entity was dropped from memory. ctx has no values of a command.
	OnDrop func(ctx context.Context, drop Drop)
}

// CommandStart describes a command before it waits for its turn.
type CommandStart struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	// CommandID is the id of the command, or empty.
	CommandID string
}

// WriteStart describes a write before it is sent.
type WriteStart struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	// Commands are the contexts of the commands that have recorded the events, for links to their
	// spans.
	Commands []context.Context
	// Events is the number of events.
	Events int
}

// RecoveryStart describes a recovery before it waits for Options.MaxRecoveries.
type RecoveryStart struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
}

// Drop is an entity that was dropped from memory.
type Drop struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	Reason        DropReason
}

// DropReason is the reason why an entity was dropped from memory.
type DropReason string

const (
	// DropFull means that there were more entities in memory than Options.MaxEntities.
	DropFull DropReason = "full"
	// DropIdle means that the entity was not used for Options.IdleTimeout.
	DropIdle DropReason = "idle"
	// DropFailed means that the state in memory may differ from the stored one after a failure. The
	// next call loads the entity again.
	DropFailed DropReason = "failed"
	// DropRequested means that the program has called Drop or Purge of [Entities].
	DropRequested DropReason = "requested"
)

// Command is a command that has ended.
type Command struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	Receipt       Receipt
	// Attempts is how often the command was decided.
	Attempts int
	// Queued is the time until the command was decided for the first time. It includes the loading
	// of the entity. It is 0 if the command was not decided.
	Queued time.Duration
	// Duration is the time since the call.
	Duration time.Duration
	// Err is the error of the command, nil if it has none.
	Err error
}

// Conflict is a write whose number another writer has taken.
type Conflict struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	// Commands is the number of commands that are decided again because of the conflict.
	Commands int
	Err      error
}

// Recovery describes how an entity was loaded, or has caught up with other writers.
type Recovery struct {
	// Type is Type.Name.
	Type          string
	PersistenceID string
	// Snapshot is the number of the snapshot that the recovery started from, or 0.
	// Events is the number of events that were replayed after the snapshot.
	Snapshot int64
	Events   int64
	// Version is the version of the recovered state.
	Version int64
	// CatchUp reports whether the recovery continued from a state in memory: the entity was loaded
	// before, and another process may have written events since. Otherwise it started from a
	// snapshot or from the first event.
	CatchUp bool
	// Waited is the wait for Options.MaxRecoveries. Duration includes it.
	Waited, Duration time.Duration
	Err              error
}

// Snapshot is a snapshot that was saved, or could not be.
type Snapshot struct {
	// Type is Type.Name.
	Type          string
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
	// Type is Type.Name.
	Type          string
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
