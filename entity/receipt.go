package entity

import (
	"context"

	"github.com/dynajournal/dynajournal"
)

// Receipt describes the outcome of a command.
type Receipt struct {
	// Version is the sequence number of the last event of the command. If the command recorded
	// none, it is the version that the command has read.
	Version int64
	// Events is the number of events that the command has recorded.
	Events int
	// Cost is the cost of the write that has stored the events.
	// Commands is the number of commands with events in this write.
	// Both are 0 if the command recorded no events, or if it is not known which request has stored
	// them.
	Cost     dynajournal.Cost
	Commands int
}

// Updater runs commands. [Entities] and the test kit of package entitytest implement it.
type Updater[S, E any] interface {
	// Update runs a command, as Entities.Update does.
	Update(ctx context.Context, id string, command func(*Tx[S, E]) error, opts ...CommandOption) (Receipt, error)
}

// Do runs a command with a result. The result comes from the last run of the command. It is the
// zero R if the command has failed.
func Do[S, E, R any](
	ctx context.Context, u Updater[S, E], id string, command func(*Tx[S, E]) (R, error), opts ...CommandOption,
) (R, error) {
	var result R
	_, err := u.Update(ctx, id, func(tx *Tx[S, E]) error {
		var err error
		result, err = command(tx)
		return err
	}, opts...)
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}
