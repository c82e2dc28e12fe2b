package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// The pauses between two looks of WaitFor.
const (
	firstLook   = 5 * time.Millisecond
	longestLook = time.Second
)

// WaitFor waits until a projection, named as group/projection, has handled the events of a
// persistence id up to a sequence number: to read what one has written. It may be called in any
// process. It reads the row again and again, 1 read unit a look, with growing pauses up to a
// second. End ctx to stop waiting. After a purge it may return at once, as long as the projection
// has not seen that the persistence id began anew.
//
// Errors: a *dynajournal.ArgumentError, a *[StuckError] if the persistence id is stuck before that
// number, the cause of ctx, and those of requests.
func WaitFor(
	ctx context.Context, journal *dynajournal.Journal, projection, persistenceID string, sequenceNumber int64,
) error {
	if journal == nil {
		return argument("journal", nil, "it must be an open journal")
	}
	if err := checkProjection(projection); err != nil {
		return err
	}
	if sequenceNumber < 0 {
		return argument("sequenceNumber", sequenceNumber, "it must not be negative")
	}
	t := openTable(journal)
	key := rowKey(t.journalName, projection, persistenceID)
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		state, err := t.row(ctx, key)
		switch {
		case err != nil && !passes(err):
			return fmt.Errorf("wait for projection %s of %q: %w", projection, persistenceID, err)
		case err == nil && state.seq >= sequenceNumber:
			return nil
		case err == nil && state.stuck > 0:
			return &StuckError{projection, persistenceID, state.seq, state.reason}
		}
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for projection %s of %q: %w", projection, persistenceID, err)
		}
	}
}
