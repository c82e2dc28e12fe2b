// Package private gives the other packages of this module access to what the root package does not
// export. The root package sets its variables. It takes values of the root's types as any, because
// it can't import the root; a value of another type panics.
package private

import (
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/serialization"
)

var (
	// Connect fills in the defaults of a *dynajournal.Config, checks it, and returns the client
	// that it describes. The caller closes the client. Nothing is sent.
	Connect func(config any) (*dynamo.Client, error)

	// HistoryRecord returns the internal form of a *dynajournal.Record.
	HistoryRecord func(record any) *history.Record

	// SetClock sets the clock of a *dynajournal.Config.
	SetClock func(config any, c *clock.Clock)

	// SetRecord sets a *dynajournal.Record to its internal form.
	SetRecord func(record any, r *history.Record)

	// SetSerialization sets the registry that decodes a *dynajournal.Event.
	SetSerialization func(event any, r *serialization.Registry)
)
