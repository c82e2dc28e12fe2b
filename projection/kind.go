package projection

import (
	"context"
	"log/slog"
)

// kind is what a projection does with events: [AtLeastOnce], [Transactional], [SQL] or [Outbox].
type kind interface {
	// delivery returns the kind as the registry stores it.
	delivery() string
	// check returns an *ArgumentError if the program has left out a part of the projection.
	check(projection string) error
	// open returns what the projection does in a group, and where its offsets are stored. The
	// members of the group are the projections that were opened before.
	open(g *Group, of *member) (effect, offsetStore)
}

// effect applies the steps of runs. It is safe for concurrent use.
type effect interface {
	// apply applies steps in their order, and stores the offset after them. It reports whether it
	// has applied all of them.
	apply(ctx context.Context, r *run, state *row, steps []step) (bool, error)
	// writes returns how many requests apply writes to the row for steps, and how many write units
	// these use if the row has 1 KB.
	writes(steps []step) (requests, units int)
}

// offsetStore is where the offsets of a projection are stored. It is safe for concurrent use.
type offsetStore interface {
	// inRows reports whether the rows of the projections table have the offsets.
	inRows() bool
	// prepare creates what the store needs. It does nothing if that exists.
	prepare(ctx context.Context) error
	// locate puts the offset into a row that a run has read.
	locate(ctx context.Context, r *run, state *row) error
	// lookUp puts the offset into a row that is shown to an operator.
	lookUp(ctx context.Context, persistenceID string, state *row) error
}

// rowOffsets are offsets in the rows of the projections table.
type rowOffsets struct{}

func (rowOffsets) inRows() bool { return true }

func (rowOffsets) prepare(context.Context) error { return nil }

func (rowOffsets) locate(context.Context, *run, *row) error { return nil }

func (rowOffsets) lookUp(context.Context, string, *row) error { return nil }

// prepare prepares where the projections of a group store their offsets. The error is one after
// which the group can't continue. Other errors are logged: each run tries again.
func (g *Group) prepare(ctx context.Context) error {
	for _, of := range g.members {
		err := of.offsets.prepare(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case ends(err):
			return err
		default:
			g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the offsets of a projection can't be reached",
				slog.String("projection", of.name), slog.Any("error", err))
		}
	}
	return nil
}
