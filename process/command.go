package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/core"
)

// Command is a command of an entity that a process runs in reaction to an event. [To] creates one.
type Command struct {
	entityID string
	// run runs the command with an id. If the command itself has returned an error, it is a
	// *refusal.
	run func(ctx context.Context, id string) error
}

// To returns a command of an entity. It is decided as by [entity.Entities.Update]: decide can run
// several times, and its events are stored once. A command that records nothing is not remembered,
// so it is decided again if the event is delivered again.
func To[S, E any](entities entity.Updater[S, E], id string, decide func(*entity.Tx[S, E]) error) Command {
	if entities == nil || decide == nil {
		return Command{}
	}
	return Command{id, func(ctx context.Context, command string) error {
		var opts []entity.CommandOption
		opts = append(opts, entity.CommandID(command))
		_, err := entities.Update(ctx, id, func(tx *entity.Tx[S, E]) error {
			if err := decide(tx); err != nil {
				return &refusal{err}
			}
			return nil
		}, opts...)
		return err
	}}
}

// refusal is an error that a command itself has returned, as opposed to a failure to run it.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// execute runs a command. It succeeds if the command was already done.
func (c *Command) execute(ctx context.Context, id string) error {
	err := c.run(ctx, id)
	if errors.Is(err, entity.ErrDuplicate) {
		return nil
	}
	return err
}

// maxCommandID is the maximum length of a command id, in bytes.
const maxCommandID = 1000

// commandID returns the id of a command of a process. It consists of the name of the process, the
// identity of the event, and the place of the command among the commands of the event. The writer
// distinguishes events of a persistence id that was purged and used again. The name has no slash,
// and the writer is quoted, so different commands have different ids.
func commandID(name string, event *dynajournal.Event, place int) string {
	part, writer := core.PartsOf(event).Part, event.WriterUUID
	id := fmt.Sprintf("%s/%d.%d/%d/%q/%s", name, event.SequenceNumber, part, place, writer, event.PersistenceID)
	if len(id) <= maxCommandID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return name + "/" + hex.EncodeToString(sum[:])
}
