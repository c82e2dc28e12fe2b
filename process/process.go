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

// Config is what a process does.
type Config struct {
	// Name is the first part of the ids of the commands. It must never change: under another name
	// the commands of an event that comes again are done again. At most 200 bytes, without a slash.
	Name string

	// React returns the commands to which an event leads, in the order in which they are run; none
	// if the process has nothing to do with it. It must depend on the event alone: when the event
	// comes again, also to a newer version of the program, it must return the same commands at the
	// same places. Otherwise one is left out or another is done twice. An error is a failure.
	React func(ctx context.Context, event dynajournal.Event) ([]Command, error)

	// Rejected is called when a command has returned an error of its own. If Rejected returns nil,
	// that is settled, and the next command is run; an error is a failure. It may be called again
	// for the same command, which may also be accepted then: a refusal that leads to something else
	// must be an event of the entity that refuses.
	//
	// Defaults to none: the error of the command is a failure.
	Rejected func(ctx context.Context, rejection RejectionError) error
}

// RejectionError is a command that has returned an error of its own. It is an error.
type RejectionError struct {
	// Event is the event that has led to the command.
	Event dynajournal.Event
	// EntityID is the id of the entity that the command is to, and CommandID the id of the command.
	EntityID, CommandID string
	// Err is what the command has returned.
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

// maxName is the largest length of the name of a process, in bytes.
const maxName = 200

// New returns a process.
//
// Each command has its effect once while its entity remembers the id: by default the last 1,000 ids
// and all of the last 10 minutes, at most 10,000 (entity.CommandIDs; of states, the last 20). An
// event comes again where its commands were run and the offset was not stored: after a crash, at
// once when another process continues; and if one of its commands has failed, until that is mended.
// If it comes again after its entity has forgotten the id, the command is run again. Where that may
// be, and after operator.Operator.Reset or under another name of the projection, the state of the
// entity must know what was done. The journal of the entities must store metadata.
//
// A failure is handled as [projection.Config] says: the event comes again, and at last its
// persistence id is stuck. Throttling, outages, conflicts with other writers and unknown outcomes
// are no attempts: they make nothing stuck.
//
// Events that were deleted before they were read lead to nothing: delete with
// [projection.DeleteTo], or embed a *Process in a [projection.GapHandler].
//
// The error is a *dynajournal.ArgumentError.
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

// passes reports whether a command may succeed later without a change of anything. The entities of
// another process may be open.
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
