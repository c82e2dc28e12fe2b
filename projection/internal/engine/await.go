package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
)

// Looks are the pauses between two reads of projection.WaitFor.
var Looks = backoff.Pauses{Shortest: 5 * time.Millisecond, Longest: time.Second}

// CheckWait checks the arguments of waiting for a projection.
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

// Wait looks at a row until its offset is at a number, or the persistence id is stuck before.
func Wait(ctx context.Context, projection, pid string, number int64, look func() (Row, error)) (Row, error) {
	for n := 0; ; n++ {
		state, err := look()
		switch {
		case err != nil && !Passes(err):
			return Row{}, fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		case err == nil && (state.Seq >= number || state.Stuck()):
			return state, nil
		}
		if err := backoff.Wait(ctx, Looks.After(n)); err != nil {
			return Row{}, fmt.Errorf("wait for projection %s of %q: %w", projection, pid, err)
		}
	}
}
