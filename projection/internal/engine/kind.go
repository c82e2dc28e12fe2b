package engine

import (
	"context"
	"fmt"
	"log/slog"
)

// Kind is what a projection does with events, such as to call a handler at least once.
type Kind interface {
	// Delivery returns the kind as the registry stores it.
	Delivery() string
	// Check returns an *ArgumentError if the program has left out a part of the projection.
	Check(projection string) error
	// Open returns what the projection does in a group, and where its offsets are stored. The
	// members of the group are the projections that were opened before.
	Open(g *Group, of *Member) (Effect, OffsetStore)
}

// Sender is a kind that sends messages to another system, and can send one again that was refused.
type Sender interface {
	Kind
	// SendAgain sends a message again that was refused, by its id. After an error the request to
	// send it stays.
	SendAgain(ctx context.Context, g *Group, of *Member, id string) error
}

// Effect applies the steps of runs. It is safe for concurrent use.
type Effect interface {
	// Apply applies steps in their order, and stores the offset after them. It reports whether it
	// has applied all of them.
	Apply(ctx context.Context, r *Run, state *Row, steps []Step) (bool, error)
	// Writes returns how many requests Apply writes to the row for steps, and how many write units
	// these use if the row has 1 KB.
	Writes(steps []Step) (requests, units int)
}

// OffsetStore is where the offsets of a projection are stored. It is safe for concurrent use.
type OffsetStore interface {
	// InRows reports whether the rows of the projections table have the offsets.
	InRows() bool
	// Prepare creates what the store needs. It does nothing if that exists.
	Prepare(ctx context.Context) error
	// Locate puts the offset into a row that a run has read.
	Locate(ctx context.Context, r *Run, state *Row) error
	// LookUp puts the offset into a row that is shown to an operator.
	LookUp(ctx context.Context, persistenceID string, state *Row) error
}

// DamagedOffsetError reports that an offset store has what no projection stores.
type DamagedOffsetError struct{ Seq, Writer any }

func (e *DamagedOffsetError) Error() string {
	return fmt.Sprintf("the row in dynajournal_offsets is damaged: seq %v, writer %v", e.Seq, e.Writer)
}

// RowOffsets are offsets in the rows of the projections table.
type RowOffsets struct{}

// InRows returns true.
func (RowOffsets) InRows() bool { return true }

// Prepare does nothing.
func (RowOffsets) Prepare(context.Context) error { return nil }

// Locate does nothing: the row has the offset.
func (RowOffsets) Locate(context.Context, *Run, *Row) error { return nil }

// LookUp does nothing: the row has the offset.
func (RowOffsets) LookUp(context.Context, string, *Row) error { return nil }

// prepare prepares where the projections of a group store their offsets. The error is one after
// which the group can't continue. Other errors are logged: each run tries again.
func (g *Group) prepare(ctx context.Context) error {
	for _, of := range g.Members {
		err := of.Offsets.Prepare(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case g.Fatal(err):
			return err
		default:
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the offsets of a projection can't be reached",
				slog.String("projection", of.Name), slog.Any("error", err))
		}
	}
	return nil
}
