package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Registered is a projection in the registry.
type Registered struct {
	Info

	Table *Table
	// Group is the name of its group.
	Group string
}

// FindRegistered finds a projection in the registry.
func FindRegistered(ctx context.Context, journal *dynajournal.Journal, projection string) (*Registered, error) {
	if journal == nil {
		return nil, Argument("journal", nil, "it must be an open journal")
	}
	group, err := CheckProjection(projection)
	if err != nil {
		return nil, err
	}
	t := OpenTable(journal)
	infos, err := t.Infos(ctx, []string{projection})
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, ErrNoProjection
	}
	return &Registered{Info: infos[0], Table: t, Group: group}, nil
}

// CheckProjection checks the name of a projection, group/projection, and returns the name of its
// group.
func CheckProjection(projection string) (string, error) {
	group, name, found := strings.Cut(projection, "/")
	if !found {
		return "", Argument("projection", projection,
			"it must be the names of the group and the projection: billing/balances")
	}
	if err := CheckName("the group of projection", group); err != nil {
		return "", err
	}
	return group, CheckName("the name of projection", name)
}

// CheckID checks that a persistence id can be a part of a key.
func CheckID(pid string) error {
	if pid == "" {
		return Argument("persistenceID", pid, "it is empty")
	}
	return nil
}

// Row reads the row of a persistence id, and returns it with its key. It first converts a mark of
// version 0.1.0.
func (o *Registered) Row(ctx context.Context, pid string) (Row, dynamo.Attributes, error) {
	key := RowKey(o.Table.JournalName, o.Projection, pid)
	for {
		state, err := o.Table.Row(ctx, key)
		if err != nil || !state.marked {
			return state, key, err
		}
		if err := o.Table.convertMark(ctx, o.Projection, key); !errors.Is(err, ErrAgain) {
			return state, key, err
		}
	}
}

// StoresRows returns an error if the offsets of the projection are not in the projections table.
func (o *Registered) StoresRows() error {
	switch o.Kind {
	case KindAtLeastOnce, KindTransactional:
		return nil
	}
	return fmt.Errorf("table %q does not have the offsets of a projection of kind %s: %w", o.Table.Name, o.Kind, ErrUnsupported)
}
