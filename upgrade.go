package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// UpgradeOptions say how to upgrade events in place.
type UpgradeOptions struct {
	// Left is called with each event that is left as it is, and why, if set: its item can't be
	// read, or says what today's form can't.
	Left func(persistenceID string, sequenceNumber int64, reason error)
	// Pace is called with what the requests before have used up, if set; it may wait, and ends the
	// upgrade with an error.
	Pace func(ctx context.Context, used Cost) error
}

// UpgradeResult says what an upgrade has done.
type UpgradeResult struct {
	// Upgraded is how many events have got today's form, Left how many keep that of Akka 1.0 and
	// 1.1, in which they are read as well as ever.
	Upgraded, Left int64
	Cost           Cost
}

// UpgradeEvents gives the events of a persistence id that are in the form of Akka 1.0 and 1.1
// today's form, in place. Each is replaced in one write, under the condition that it still is what
// was read, so nothing can be lost at any point, and both forms stand side by side meanwhile; marks
// and snapshots are not touched. Readers and writers need not be stopped, but a JVM of 1.1 or older
// can't read what has today's form. What would lose something is left. It can be called again.
func (j *Journal) UpgradeEvents(ctx context.Context, persistenceID string, opts UpgradeOptions) (UpgradeResult, error) {
	if err := j.checkReadable(persistenceID); err != nil {
		return UpgradeResult{}, err
	}
	var result UpgradeResult
	err := j.operate(ctx, func(ctx context.Context, op *lifetime.Operation) error {
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
				opts.Left(persistenceID, seq, itemError(j.config.JournalTable, reason))
				return nil
			})
		}
		cost, err := j.store.UpgradeEvents(ctx, persistenceID, left, paceOutside(op, opts.Pace))
		result.Cost = Cost(cost)
		if err != nil {
			return fmt.Errorf("upgrade the events of %q: %w", persistenceID, itemError(j.config.JournalTable, err))
		}
		return nil
	})
	return result, err
}
