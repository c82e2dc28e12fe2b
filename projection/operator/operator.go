// Package operator has what operators of projections need, from any process and while the
// projections run: pause and continue one, handle a stuck persistence id again or skip an event,
// begin anew, remove a projection, and see how far one is behind:
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

// Operator operates a projection of a journal, or all of them, from any process: also while others
// run it. It holds nothing, and is safe for concurrent use.
type Operator struct {
	journal    *dynajournal.Journal
	projection string
}

// New returns an operator of a projection, which is named as group/projection, such as
// billing/balances. The empty name stands for all projections of the journal. Only
// [Operator.Audit], [Operator.Debts], [Operator.MeasureLag], [Operator.Positions] and
// [Operator.Stuck] take it: the other methods return an error.
//
// It sends nothing. If an argument is wrong, each method returns a *dynajournal.ArgumentError.
func New(journal *dynajournal.Journal, projection string) *Operator {
	return &Operator{journal, projection}
}

// operated is a projection that is operated.
type operated struct{ *engine.Registered }

// find returns the projection as the registry has it.
func (o *Operator) find(ctx context.Context) (*operated, error) {
	found, err := engine.FindRegistered(ctx, o.journal, o.projection)
	return &operated{found}, err
}

// selected returns the projection as the registry has it, or all projections if the operator has no
// name.
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
