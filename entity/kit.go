package entity

import (
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/serialization"
)

// init gives package entitytest what it needs to follow the rules that entities keep, and the
// command what it needs to show snapshots.
func init() { //nolint:gochecknoinits // package private has to be complete before anything uses it
	private.CheckType = func(kind any) error {
		return kind.(interface{ check() error }).check() //nolint:forcetypeassert // see CheckType
	}
	private.CheckEntityID = checkID
	private.ReadCommandOptions = readCommandOptions
	private.InsideCommand = insideCommand
	private.OpenSnapshot = func(stored serialization.Payload) (serialization.Payload, int, bool) {
		state, ids, err := openEnvelope(stored)
		return state, len(ids.done), err == nil && stored.SerializerID == envelopeSerializer
	}
}

// readCommandOptions returns what a []CommandOption asks for, checked as entities check it.
func readCommandOptions(opts any) (private.CommandOptions, error) {
	c := &command[any, any]{}
	for _, opt := range opts.([]CommandOption) { //nolint:forcetypeassert // see private.ReadCommandOptions
		opt(&c.options)
	}
	h := &Entities[any, any]{settings: private.Settings{Metadata: true}}
	if err := h.checkOptions(c); err != nil {
		return private.CommandOptions{}, err
	}
	read := private.CommandOptions{ID: c.options.id}
	if c.options.version {
		read.At = &c.options.at
	}
	if c.options.receipt != nil {
		read.Receipt = c.options.receipt
	}
	return read, nil
}
