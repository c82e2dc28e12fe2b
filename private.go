package dynajournal

import (
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/serialization"
)

func init() { //nolint:gochecknoinits // package private has to be complete before anything uses it
	private.Connect = func(config any) (*dynamo.Client, error) { return own[Config](config).connect() }
	private.HistoryRecord = func(record any) *history.Record { return own[Record](record).history() }
	private.SetClock = func(config any, c *clock.Clock) { own[Config](config).clock = c }
	private.SetRecord = func(record any, r *history.Record) { *own[Record](record) = publicRecord(r) }
	private.SetSerialization = func(event any, r *serialization.Registry) { own[Event](event).registry = r }
}

// own returns v as a pointer to a type of this package.
func own[T any](v any) *T {
	p, ok := v.(*T)
	if !ok {
		panic(fmt.Sprintf("got a %T, want a %T", v, p))
	}
	return p
}
