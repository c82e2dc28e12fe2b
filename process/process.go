package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
)

// Config is the configuration of a process.
type Config struct {
	// Name is the first part of the ids of the commands. It must never change: under another name,
	// the commands of an event that is delivered again are done again. At most 200 bytes, without a
	// slash.
	Name string

	// React returns the commands to run in reaction to an event, in the order in which they are
	// run. It returns none if the event does not concern the process. The result must depend on the
	// event alone: when the event is delivered again, even to a newer version of the program, React
	// must return the same commands at the same places. Otherwise a command is skipped or done
	// twice. An error is a failure.
	React func(ctx context.Context, event dynajournal.Event) ([]Command, error)

	// Rejected is called when a command has returned an error of its own. If Rejected returns nil,
	// the rejection is handled, and the next command is run. If it returns an error, that is a
	// failure. Rejected may be called again for the same command, and the command may also be
	// accepted the next time. So if something must follow from a rejection, the entity that rejects
	// must record an event for it.
	//
	// Defaults to none: the error of the command is a failure.
	Rejected func(ctx context.Context, rejection RejectionError) error
}

// RejectionError reports a command that has returned an error of its own.
type RejectionError struct {
	// Event is the event that has led to the command.
	Event dynajournal.Event
	// EntityID is the id of the entity that the command is sent to. CommandID is the id of the
	// command.
	EntityID, CommandID string
	// Err is the error that the command has returned.
	Err error
}

func (r *RejectionError) Error() string {
	return fmt.Sprintf("command %q to %q: %v", r.CommandID, r.EntityID, r.Err)
}

func (r *RejectionError) Unwrap() error { return r.Err }

// Process is a process manager: a handler for [projection.AtLeastOnce]. It is safe for concurrent
// use.
type Process struct{ config Config }

var _ projection.Handler = (*Process)(nil)

// maxName is the maximum length of the name of a process, in bytes.
const maxName = 200

// New returns a process.
//
// Each command has its effect once as long as its entity remembers the id: by default the last
// 1,000 ids and all ids of the last 10 minutes, at most 10,000 ([entity.CommandIDs]; for states,
// the last 20). An event is delivered again if its commands were run and the offset was not stored:
// after a crash, as soon as another process continues; and if one of its commands has failed, until
// the cause is fixed. If the event is delivered again after the entity has forgotten the id, the
// command is run again. If that can happen, and after operator.Operator.Reset or under another name
// of the projection, the state of the entity must show which commands were done. The journal of the
// entities must store metadata.
//
// A failure is handled as documented on [projection.Config]: the event is delivered again, and
// after too many failures its persistence id is stuck. Throttling, outages, conflicts with other
// writers and unknown outcomes do not count as attempts, so they do not make a persistence id
// stuck.
//
// Events that are deleted before they are read are skipped: delete with [projection.DeleteTo], or
// embed a *Process in a [projection.GapHandler].
//
// The error is a [*dynajournal.ArgumentError].
func New(config Config) (*Process, error) {
	switch {
	case config.Name == "" || len(config.Name) > maxName:
		return nil, argument("Config.Name", config.Name, "it must have from 1 to 200 bytes")
	case !utf8.ValidString(config.Name) || strings.ContainsAny(config.Name, "/\x00"):
		return nil, argument("Config.Name", config.Name, "it must be valid UTF-8 without a slash or a NUL")
	case config.React == nil:
		return nil, argument("Config.React", nil, "it must be a function")
	}
	return &Process{config}, nil
}

// Handle runs the commands of an event, one after the other.
func (p *Process) Handle(ctx context.Context, event dynajournal.Event) error {
	commands, err := p.config.React(ctx, event)
	if err != nil {
		return fmt.Errorf("process %s: %w", p.config.Name, err)
	}
	for place := range commands {
		if err := p.run(ctx, event, &commands[place], place); err != nil {
			return fmt.Errorf("process %s: %w", p.config.Name, err)
		}
	}
	return nil
}

func (p *Process) run(ctx context.Context, event dynajournal.Event, c *Command, place int) error {
	if c.run == nil {
		return argument("React", place, "the command must have entities and a function")
	}
	id := commandID(p.config.Name, &event, place)
	err := c.execute(ctx, id)
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case ok:
		rejection := &RejectionError{event, c.entityID, id, refused.error}
		if p.config.Rejected == nil {
			return rejection
		}
		return p.config.Rejected(ctx, *rejection)
	case err != nil && passes(err):
		return projection.Delayed(err)
	}
	return err
}

// passes reports whether a command may succeed later without a fix. After ErrClosed, a process
// whose entities are open may run the command.
func passes(err error) bool {
	for _, passing := range []error{
		dynajournal.ErrThrottled, dynajournal.ErrUnavailable, entity.ErrBusy, entity.ErrClosed,
		entity.ErrContended, entity.ErrOutcomeUnknown, entity.ErrRecoveryTimeout,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

func argument(name string, value any, reason string) error {
	return &dynajournal.ArgumentError{Argument: name, Value: value, Reason: reason}
}
