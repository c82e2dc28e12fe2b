package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Listing has the fields of the root's IDsOptions.
type Listing struct {
	After    string
	Limit    int
	Prefix   string
	Scan     bool
	Segments int
	Sorted   bool
}

// List lists persistence ids until emit returns false. emit runs outside of the operation.
func (j *Journal) List(ctx context.Context, l *Listing, emit func(string) bool) error {
	return j.Operate(ctx, dynamo.ForList, func(ctx context.Context, op *lifetime.Operation) error {
		return j.listAll(ctx, op, l, emit)
	})
}

// ListError returns the public form of the error of a listing.
func (j *Journal) ListError(err error) error {
	return fmt.Errorf("list the persistence ids of journal %q: %w", j.Name, j.InTable(j.Table, err))
}

// CheckListed returns an error if no listing can contain this persistence id.
func (j *Journal) CheckListed(pid string) error {
	err := j.Keys().CheckReadable(pid)
	if err == nil && j.Native() {
		err = j.Keys().CheckIDsKey(pid)
	}
	return err
}

// tooLong reports whether an id with the prefix would be too long for the table or the index.
func (j *Journal) tooLong(prefix string) bool {
	return errors.Is(j.Keys().CheckReadable(prefix), layout.ErrNoKey) ||
		j.Native() && j.Keys().CheckIDsKey(prefix) != nil
}

// listAll lists ids in the operation op, until emit returns false.
func (j *Journal) listAll(ctx context.Context, op *lifetime.Operation, l *Listing, emit func(string) bool) error {
	if j.tooLong(l.Prefix) {
		return nil
	}
	listed := 0
	var ended error
	limited := func(pid string) bool {
		listed++
		ended = op.Outside(func() error {
			if !emit(pid) || listed == l.Limit {
				return protocol.ErrStop
			}
			return nil
		})
		return ended == nil
	}
	for {
		known := !l.Scan && j.HasIndex.Load()
		err := j.listFrom(ctx, l, known, limited)
		if ended != nil && !errors.Is(ended, protocol.ErrStop) {
			return ended // the journal was closed
		}
		if !known || listed > 0 || !errors.Is(err, dynamo.ErrInvalidRequest) {
			return err
		}
		j.HasIndex.Store(false) // the index was removed: find out again
	}
}

// listFrom lists ids by the index or by a scan. known reports that the index is known to exist.
func (j *Journal) listFrom(ctx context.Context, l *Listing, known bool, emit func(string) bool) error {
	list, sorted, err := j.lister(ctx, l, known)
	if err != nil {
		return err
	}
	var m dynamo.Meter
	w := ids.Window{After: l.After, Prefix: l.Prefix}
	if sorted || !l.Sorted {
		return list(ctx, &m, w, emit)
	}
	return sortIDs(ctx, &m, w, list, emit)
}

// lister lists the ids in a window.
type lister func(context.Context, *dynamo.Meter, ids.Window, func(string) bool) error

// sortIDs lists ids in sorted order. It reads all of them into memory first.
func sortIDs(ctx context.Context, m *dynamo.Meter, w ids.Window, list lister, emit func(string) bool) error {
	var all []string
	if err := list(ctx, m, ids.Window{Prefix: w.Prefix}, func(pid string) bool {
		if pid > w.After || w.After == "" {
			all = append(all, pid)
		}
		return true
	}); err != nil {
		return err
	}
	slices.Sort(all)
	for _, pid := range all {
		if !emit(pid) {
			break
		}
	}
	return nil
}

// lister returns the function that lists ids. It reports whether the function lists them in sorted
// order.
func (j *Journal) lister(ctx context.Context, l *Listing, known bool) (lister, bool, error) {
	scan := func(ctx context.Context, m *dynamo.Meter, w ids.Window, emit func(string) bool) error {
		return j.IDs.Scan(ctx, m, w, max(l.Segments, 1), emit)
	}
	if l.Scan {
		return scan, false, nil
	}
	if !known {
		found, err := j.FindIndex(ctx, j.Client, j.Native())
		if err != nil {
			return nil, false, err
		}
		if !found {
			return scan, false, nil
		}
		j.HasIndex.Store(true)
	}
	if j.Native() {
		return j.IDs.Native, true, nil
	}
	return j.IDs.SharedByIndex, false, nil
}
