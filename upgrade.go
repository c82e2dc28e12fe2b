package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// UpgradeOptions are the options of UpgradeEvents.
type UpgradeOptions struct {
	// Left, if set, is called with each event that keeps its old format, and the reason: its item
	// can't be read, or contains data that the current format can't store.
	Left func(persistenceID string, sequenceNumber int64, reason error)

	// Pace, if set, is called with the cost since its last call. It may wait, to limit the capacity
	// used. An error stops the upgrade, which returns it.
	Pace func(ctx context.Context, used Cost) error
}

// UpgradeResult is the result of an upgrade.
type UpgradeResult struct {
	// Upgraded is the number of events that were converted to the current format. Left is the
	// number of events that keep the format of Akka 1.0 and 1.1. Readers find both.
	Upgraded, Left int64
	Cost           Cost
}

// UpgradeEvents converts the events of a persistence id from the format of Akka's plug-in 1.0 and
// 1.1 to the current format. It replaces each event with one write, on the condition that the event
// has not changed, so no event is missing at any moment. Events whose conversion would lose data
// keep their format. Marks and snapshots do not change. Readers and writers need not be stopped,
// but the plug-in 1.1 and older versions can't read the current format. See also
// Config.OldEventFormat.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrClosed], errors of Pace, and request errors.
// After an error some events may be upgraded ([MaybeApplied] reports whether). The call may be
// repeated.
func (j *Journal) UpgradeEvents(ctx context.Context, persistenceID string, opts UpgradeOptions) (UpgradeResult, error) {
	if err := j.core.CheckReadable(persistenceID); err != nil {
		return UpgradeResult{}, err
	}
	var result UpgradeResult
	err := j.core.Operate(ctx, dynamo.ForCopy, func(ctx context.Context, op *lifetime.Operation) error {
		left := func(seq int64, reason error) error {
			if reason == nil {
				result.Upgraded++
				return nil
			}
			result.Left++
			if opts.Left == nil {
				return nil
			}
			return op.Outside(func() error {
				opts.Left(persistenceID, seq, j.core.InTable(j.core.Table, reason))
				return nil
			})
		}
		cost, err := j.core.Store.UpgradeEvents(ctx, persistenceID, left, paceOutside(op, opts.Pace))
		result.Cost = Cost(cost)
		if err != nil {
			return fmt.Errorf("upgrade the events of %q: %w", persistenceID, j.core.InTable(j.core.Table, err))
		}
		return nil
	})
	return result, err
}
