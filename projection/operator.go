package projection

import (
	"context"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// operator is a projection that is worked on from outside of its processes.
type operator struct {
	Info

	table *table
	// group is the name of its group.
	group string
}

// operate finds a projection in the registry.
func operate(ctx context.Context, journal *dynajournal.Journal, projection string) (*operator, error) {
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
	return &operator{Info: infos[0], table: t, group: group}, nil
}

// selected returns what is known of a projection, or of all if its name is empty.
func selected(ctx context.Context, journal *dynajournal.Journal, projection string) ([]Info, error) {
	if projection == "" {
		return List(ctx, journal)
	}
	o, err := operate(ctx, journal, projection)
	if err != nil {
		return nil, err
	}
	return []Info{o.Info}, nil
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
func (o *operator) row(ctx context.Context, pid string) (row, dynamo.Attributes, error) {
	key := rowKey(o.table.journalName, o.Projection, pid)
	state, err := o.table.row(ctx, key)
	return state, key, err
}

// storesRows returns an error if the offsets of the projection are not in the projections table.
func (o *operator) storesRows() error {
	switch o.Kind {
	case kindAtLeastOnce, kindTransactional:
		return nil
	}
	return fmt.Errorf("its offsets are not in table %q, as it is of kind %s: %w", o.table.name, o.Kind, ErrUnsupported)
}
