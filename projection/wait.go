package projection

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// WaitFor waits until a projection, named as group/projection, has handled the events of a
// persistence id up to a sequence number, for example to read one's own writes. It may be called in
// any process. It polls the row, with growing pauses up to a second. A poll costs 1 read unit, or 2
// until events of the persistence id are handled. End ctx to stop waiting. After a purge with
// PurgeOptions.Now it may return at once, until the projection has noticed that the numbers started
// again.
//
// Errors: a *dynajournal.ArgumentError, [ErrOtherOffsets] for a projection of package
// sqlprojection, a *[StuckError] if the persistence id is stuck before that number, the cause of
// ctx, and errors of requests.
func WaitFor(
	ctx context.Context, journal *dynajournal.Journal, projection, persistenceID string, sequenceNumber int64,
) error {
	if err := engine.CheckWait(journal, projection, sequenceNumber); err != nil {
		return err
	}
	t := engine.OpenTable(journal)
	key := engine.RowKey(t.JournalName, projection, persistenceID)
	known := false
	read := func() (engine.Row, error) {
		state, err := t.Row(ctx, key)
		if err != nil || known || state.Started && state.Seq >= sequenceNumber {
			return state, err
		}
		kind, err := t.Get(ctx, engine.KindKey(t.JournalName, projection))
		if err == nil && kind[engine.AttrOffsets] != nil {
			err = fmt.Errorf("%w: use sqlprojection.WaitFor", ErrOtherOffsets)
		}
		known = err == nil && state.Started
		return state, err
	}
	state, err := engine.Wait(ctx, projection, persistenceID, sequenceNumber, read)
	if err == nil && state.Seq < sequenceNumber {
		return &StuckError{projection, persistenceID, state.Seq, state.Reason}
	}
	return err
}
