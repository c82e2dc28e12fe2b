// Package operator has operations on projections, from any process and while the projections run:
// pause and continue a projection, retry a stuck persistence id or skip an event, reset or remove a
// projection, and measure its backlog:
//
//	err := operator.New(journal, "billing/balances").Pause(ctx)
//
// The command `dynajournal projections` does the same at a shell.
package operator

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Operator operates a projection of a journal, or all of them, from any process, even while other
// processes run it. It has no state, and is safe for concurrent use.
type Operator struct {
	journal    *dynajournal.Journal
	projection string
}

// New returns an operator of a projection, which is named as group/projection, such as
// billing/balances. The empty name means all projections of the journal. Only [Operator.Audit],
// [Operator.Debts], [Operator.MeasureLag], [Operator.Positions] and [Operator.Stuck] accept it: the
// other methods return an error.
//
// New sends no requests. If an argument is wrong, each method returns a *dynajournal.ArgumentError.
func New(journal *dynajournal.Journal, projection string) *Operator {
	return &Operator{journal, projection}
}

// operated is a registered projection that an operator works on.
type operated struct{ *engine.Registered }

// find reads the projection from the registry.
func (o *Operator) find(ctx context.Context) (*operated, error) {
	found, err := engine.FindRegistered(ctx, o.journal, o.projection)
	return &operated{found}, err
}

// selected reads the projection from the registry, or all projections if the operator has no name.
func (o *Operator) selected(ctx context.Context) ([]engine.Info, error) {
	if o.projection == "" {
		return list(ctx, o.journal)
	}
	p, err := o.find(ctx)
	if err != nil {
		return nil, err
	}
	return []engine.Info{p.Info}, nil
}
