package engine

import (
	"context"
	"fmt"
	"log/slog"
)

// Kind defines how a projection handles events, such as calling a handler at least once.
type Kind interface {
	// Delivery returns the kind as the registry stores it.
	Delivery() string
	// Check returns an *ArgumentError if the program has left out a part of the projection.
	Check(projection string) error
	// Open returns the effect of a projection in a group, and the store of its offsets. g.Members
	// has only the projections that were opened before.
	Open(g *Group, of *Member) (Effect, OffsetStore)
}

// Sender is a Kind that sends messages to another system, and can resend a refused one.
type Sender interface {
	Kind
	// SendAgain resends the refused message with an id. After an error the request to resend it
	// remains.
	SendAgain(ctx context.Context, g *Group, of *Member, id string) error
}

// Effect applies the steps of runs. It is safe for concurrent use.
type Effect interface {
	// Apply applies steps in their order, and stores the offset after them. It reports whether it
	// has applied all of them.
	Apply(ctx context.Context, r *Run, state *Row, steps []Step) (bool, error)
	// Writes returns how many write requests for the row Apply sends for steps, and how many write
	// units these use if the row has 1 KB.
	Writes(steps []Step) (requests, units int)
}

// OffsetStore stores the offsets of a projection. It is safe for concurrent use.
type OffsetStore interface {
	// InRows reports whether the rows of the projections table have the offsets.
	InRows() bool
	// Prepare creates what the store needs, if it is missing.
	Prepare(ctx context.Context) error
	// Locate puts the offset into a row that a run has read.
	Locate(ctx context.Context, r *Run, state *Row) error
	// LookUp puts the offset into a row that is shown to an operator.
	LookUp(ctx context.Context, persistenceID string, state *Row) error
}

// DamagedOffsetError reports a stored offset that no projection can have written.
type DamagedOffsetError struct{ Seq, Writer any }

func (e *DamagedOffsetError) Error() string {
	return fmt.Sprintf("the row in dynajournal_offsets is damaged: seq %v, writer %v", e.Seq, e.Writer)
}

// RowOffsets stores offsets in the rows of the projections table.
type RowOffsets struct{}

// InRows returns true.
func (RowOffsets) InRows() bool { return true }

// Prepare does nothing.
func (RowOffsets) Prepare(context.Context) error { return nil }

// Locate does nothing: the row has the offset.
func (RowOffsets) Locate(context.Context, *Run, *Row) error { return nil }

// LookUp does nothing: the row has the offset.
func (RowOffsets) LookUp(context.Context, string, *Row) error { return nil }

// prepare prepares the offset stores of the group's projections. It returns only an error after
// which the group can't continue. It logs other errors: each run tries again.
func (g *Group) prepare(ctx context.Context) error {
	for _, of := range g.Members {
		err := of.Offsets.Prepare(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case g.Fatal(err):
			return err
		default:
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the offsets of a projection can't be reached",
				slog.String("event", "projection.offsets_unreachable"), slog.String("projection", of.Name), slog.Any("error", err))
		}
	}
	return nil
}
