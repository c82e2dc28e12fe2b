// Package kit has the rules of commands that entities and their test kit share.
package kit

import (
	"strings"

	"github.com/dynajournal/dynajournal"
)

// Separator separates the name of a type from the id of an entity in a persistence id.
const Separator = "|"

// maxCommandID is the maximum length of a command id, in bytes.
const maxCommandID = 1000

// CheckID returns an error if id is not valid as the id of an entity.
func CheckID(id string) error {
	if id == "" || strings.Contains(id, Separator) {
		return argument("id", id, `it must not be empty or contain "|"`)
	}
	return nil
}

// Options are the options of one command. R is entity.Receipt.
type Options[R any] struct {
	// ID is set by entity.CommandID. It is empty if the command has no id.
	ID string
	// At is the version that entity.At requires. It is valid if Demands is set.
	At      int64
	Demands bool
	// Fresh is set by entity.Fresh.
	Fresh bool
	// Receipt is set by entity.Into. It is nil if the caller wants no receipt.
	Receipt *R
}

// Check returns an error if the options are invalid. metadata reports whether an id can be stored.
func (o *Options[R]) Check(metadata bool) error {
	switch {
	case o.At < 0:
		return argument("At", o.At, "it must not be negative")
	case o.ID == "":
		return nil
	case len(o.ID) > maxCommandID:
		return argument("CommandID", len(o.ID), "it must have at most 1,000 bytes")
	case !metadata:
		return argument("CommandID", o.ID, "the journal stores no metadata: see Config.EventMetadata")
	}
	return nil
}

func (o *Options[R]) options() *Options[R] { return o }

// Holder is the type that a command option changes. It embeds Options.
type Holder[R, O any] interface {
	*O
	options() *Options[R]
}

// Read applies command options and returns the result. R is inferred from the type that they
// change.
func Read[R, O any, P Holder[R, O], F ~func(P)](all []F) *Options[R] {
	holder := P(new(O))
	for _, option := range all {
		option(holder)
	}
	return holder.options()
}

func argument(name string, value any, reason string) error {
	return &dynajournal.ArgumentError{Argument: name, Value: value, Reason: reason}
}
