package projection

import (
	"context"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Operator operates a projection of a journal, or all of them, from any process: also while others
// run it. It holds nothing, and is safe for concurrent use.
type Operator struct {
	journal    *dynajournal.Journal
	projection string
}

// NewOperator returns an operator of a projection, which is named as group/projection, such as
// billing/balances. The empty name stands for all projections of the journal. Only
// [Operator.Audit], [Operator.MeasureLag], [Operator.Positions] and [Operator.Stuck] take it: the
// other methods return an error.
//
// It sends nothing. If an argument is wrong, each method returns a *dynajournal.ArgumentError.
func NewOperator(journal *dynajournal.Journal, projection string) *Operator {
	return &Operator{journal, projection}
}

// find returns the projection as the registry has it.
func (o *Operator) find(ctx context.Context) (*operated, error) {
	return operate(ctx, o.journal, o.projection)
}

// operated is a projection that is operated, as the registry has it.
type operated struct {
	Info

	table *table
	// group is the name of its group.
	group string
}

// operate finds a projection in the registry.
func operate(ctx context.Context, journal *dynajournal.Journal, projection string) (*operated, error) {
	if journal == nil {
		return nil, argument("journal", nil, "it must be an open journal")
	}
	group, err := checkProjection(projection)
	if err != nil {
		return nil, err
	}
	t := openTable(journal)
	infos, err := t.infos(ctx, []string{projection})
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, ErrNoProjection
	}
	return &operated{Info: infos[0], table: t, group: group}, nil
}

// selected returns the projection as the registry has it, or all projections if the operator has no
// name.
func (o *Operator) selected(ctx context.Context) ([]Info, error) {
	if o.projection == "" {
		return List(ctx, o.journal)
	}
	p, err := o.find(ctx)
	if err != nil {
		return nil, err
	}
	return []Info{p.Info}, nil
}

// checkProjection checks the name of a projection, group/projection, and returns that of the group.
func checkProjection(projection string) (string, error) {
	group, name, found := strings.Cut(projection, "/")
	if !found {
		return "", argument("projection", projection,
			"it must be the names of the group and the projection: billing/balances")
	}
	if err := checkName("the group of projection", group); err != nil {
		return "", err
	}
	return group, checkName("the name of projection", name)
}

// checkID checks that a persistence id can be a part of a key.
func checkID(pid string) error {
	if pid == "" {
		return argument("persistenceID", pid, "it is empty")
	}
	return nil
}

// row reads the row of a persistence id.
func (o *operated) row(ctx context.Context, pid string) (row, dynamo.Attributes, error) {
	key := rowKey(o.table.journalName, o.Projection, pid)
	state, err := o.table.row(ctx, key)
	return state, key, err
}

// storesRows returns an error if the offsets of the projection are not in the projections table.
func (o *operated) storesRows() error {
	switch o.Kind {
	case kindAtLeastOnce, kindTransactional:
		return nil
	}
	return fmt.Errorf("its offsets are not in table %q, as it is of kind %s: %w", o.table.name, o.Kind, ErrUnsupported)
}
