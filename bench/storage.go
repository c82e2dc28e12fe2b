package bench

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// storage is a layout with the kind of tables in which it is measured.
type storage struct {
	name string
	// lastStays is true if the last event cannot be deleted.
	lastStays bool
	create    func(ctx context.Context, config dynajournal.Config) error
	remove    func(ctx context.Context, config dynajournal.Config) error
	open      func(ctx context.Context, config dynajournal.Config) (store, error)
}

// store is an open journal of any layout.
type store interface {
	// recover returns the writer of a persistence id, and the number of replayed events.
	recover(ctx context.Context, pid string) (layoutWriter, int, error)
	Close() error
}

// layoutWriter is a writer of any layout.
type layoutWriter interface {
	Append(ctx context.Context, events ...any) (dynajournal.AppendResult, error)
	// remove permanently deletes all events up to a number, and returns their number.
	remove(ctx context.Context, to int64) (int64, error)
}

// storages returns all layouts. The first layout is the base of the others.
func storages() []storage {
	all := []storage{
		currentStorage("native", false, func(ctx context.Context, config dynajournal.Config) error {
			return dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{})
		}),
		currentStorage("shared", false, func(ctx context.Context, config dynajournal.Config) error {
			return dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{SharedWithJVM: true})
		}),
		// As the plug-ins of that time created it: without an index and without a header.
		currentStorage("pay", true, func(ctx context.Context, config dynajournal.Config) error {
			return createTable(ctx, bareClient(config), config.JournalTable)
		}),
	}
	for _, l := range legacy.Layouts() {
		all = append(all, legacyStorage(l))
	}
	return all
}

func currentStorage(name string, envelope bool, create func(context.Context, dynajournal.Config) error) storage {
	return storage{
		name:   name,
		create: create,
		remove: func(ctx context.Context, config dynajournal.Config) error {
			_, err := dynajournal.DeleteTables(ctx, config)
			return err
		},
		open: func(ctx context.Context, config dynajournal.Config) (store, error) {
			config.OldEventFormat = envelope
			j, err := dynajournal.Open(ctx, config)
			return currentStore{j}, err
		},
	}
}

type currentStore struct{ *dynajournal.Journal }

func (s currentStore) recover(ctx context.Context, pid string) (layoutWriter, int, error) {
	n := 0
	w, err := s.Recover(ctx, pid, dynajournal.RecoverOptions{}, func(dynajournal.Event) error {
		n++
		return nil
	})
	return currentEntity{w}, n, err
}

type currentEntity struct{ *dynajournal.Writer }

func (e currentEntity) remove(ctx context.Context, to int64) (int64, error) {
	result, err := e.DeleteTo(ctx, to)
	return result.Removed, err
}

func legacyStorage(l legacy.Layout) storage {
	return storage{
		name:      l.String(),
		lastStays: l == legacy.Naive,
		create: func(ctx context.Context, config dynajournal.Config) error {
			return legacy.CreateTable(ctx, legacy.Config{Layout: l, Journal: config})
		},
		remove: func(ctx context.Context, config dynajournal.Config) error {
			return legacy.DeleteTable(ctx, legacy.Config{Layout: l, Journal: config})
		},
		open: func(ctx context.Context, config dynajournal.Config) (store, error) {
			j, err := legacy.Open(ctx, legacy.Config{Layout: l, Journal: config})
			return legacyStore{j}, err
		},
	}
}

type legacyStore struct{ *legacy.Journal }

func (s legacyStore) recover(ctx context.Context, pid string) (layoutWriter, int, error) {
	n := 0
	w, err := s.Recover(ctx, pid, dynajournal.RecoverOptions{}, func(legacy.Event) error {
		n++
		return nil
	})
	return legacyEntity{w}, n, err
}

type legacyEntity struct{ *legacy.Writer }

func (e legacyEntity) remove(ctx context.Context, to int64) (int64, error) {
	result, err := e.DeleteTo(ctx, to, legacy.Permanent)
	return result.Deleted, err
}
