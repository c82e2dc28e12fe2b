package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
)

// looks are the pauses between two reads of WaitFor.
var looks = backoff.Pauses{Shortest: 5 * time.Millisecond, Longest: time.Second}

// WaitFor waits until a projection, named as group/projection, has handled the events of a
// persistence id up to a sequence number: to read what one has written. It may be called in any
// process. It reads the row again and again, 1 read unit a look, or 2 while nothing of the
// persistence id was handled, with growing pauses up to a second. End ctx to stop waiting. After a
// purge with PurgeOptions.Now it may return at once, as long as the projection has not seen that
// the numbers began anew.
//
// Errors: a *dynajournal.ArgumentError, [ErrOtherOffsets] for a projection of [SQL], a
// *[StuckError] if the persistence id is stuck before that number, the cause of ctx, and those of
// requests.
func WaitFor(
	ctx context.Context, journal *dynajournal.Journal, projection, persistenceID string, sequenceNumber int64,
) error {
	if err := checkWait(journal, projection, sequenceNumber); err != nil {
		return err
	}
	t := openTable(journal)
	key := rowKey(t.journalName, projection, persistenceID)
	known := false
	look := func() (row, error) {
		state, err := t.row(ctx, key)
		if err != nil || known || state.begun && state.seq >= sequenceNumber {
			return state, err
		}
		kind, err := t.get(ctx, kindKey(t.journalName, projection))
		if err == nil && kind[attrOffsets] != nil {
			err = fmt.Errorf("%w: use WaitForSQL", ErrOtherOffsets)
		}
		known = err == nil && state.begun
		return state, err
	}
	return wait(ctx, projection, persistenceID, sequenceNumber, look)
}

// checkWait checks the arguments of waiting for a projection.
func checkWait(journal *dynajournal.Journal, projection string, sequenceNumber int64) error {
	if journal == nil {
		return argument("journal", nil, "it must be an open journal")
	}
	if _, err := checkProjection(projection); err != nil {
		return err
	}
	if sequenceNumber < 0 {
		return argument("sequenceNumber", sequenceNumber, "it must not be negative")
	}
	return nil
}

// wait looks at a row until its offset is at a number.
func wait(ctx context.Context, projection, pid string, number int64, look func() (row, error)) error {
	for n := 0; ; n++ {
		state, err := look()
		switch {
		case err != nil && !passes(err):
			return fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		case err == nil && state.seq >= number:
			return nil
		case err == nil && state.stuck > 0:
			return &StuckError{projection, pid, state.seq, state.reason}
		}
		if err := backoff.Wait(ctx, looks.After(n)); err != nil {
			return fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		}
	}
}
