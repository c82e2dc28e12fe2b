package migration

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal"
)

func limiter(units float64) *rate.Limiter {
	if units == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(units), max(int(units), 1))
}

// pace waits until the used capacity is within the limits.
func (r *run) pace(ctx context.Context, used dynajournal.Cost) error {
	return errors.Join(waitForUnits(ctx, r.read, used.ReadUnits), waitForUnits(ctx, r.write, used.WriteUnits))
}

// Pace returns a function that waits so that the used capacity stays below the limits, in capacity
// units per second. 0 means no limit.
func Pace(readUnits, writeUnits float64) func(ctx context.Context, used dynajournal.Cost) error {
	r := &run{read: limiter(readUnits), write: limiter(writeUnits)}
	return r.pace
}

func waitForUnits(ctx context.Context, l *rate.Limiter, units float64) error {
	if l == nil || units == 0 {
		return nil
	}
	for left := int(units + 0.5); left > 0; left -= l.Burst() {
		if err := l.WaitN(ctx, min(left, l.Burst())); err != nil {
			return fmt.Errorf("wait for capacity: %w", err)
		}
	}
	return nil
}
