package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
)

// WaitPauses has the pauses between the reads of projection.WaitFor.
var WaitPauses = backoff.Pauses{Shortest: 5 * time.Millisecond, Longest: time.Second}

// CheckWait checks the arguments of projection.WaitFor.
func CheckWait(journal *dynajournal.Journal, projection string, sequenceNumber int64) error {
	if journal == nil {
		return Argument("journal", nil, "it must be an open journal")
	}
	if _, err := CheckProjection(projection); err != nil {
		return err
	}
	if sequenceNumber < 0 {
		return Argument("sequenceNumber", sequenceNumber, "it must not be negative")
	}
	return nil
}

// Wait polls a row until its offset has reached a number, or the persistence id is stuck before
// that number.
func Wait(ctx context.Context, projection, pid string, number int64, read func() (Row, error)) (Row, error) {
	for n := 0; ; n++ {
		state, err := read()
		switch {
		case err != nil && !Passes(err):
			return Row{}, fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		case err == nil && (state.Seq >= number || state.Stuck()):
			return state, nil
		}
		if err := backoff.Wait(ctx, WaitPauses.After(n)); err != nil {
			return Row{}, fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		}
	}
}
