package core

import (
	"context"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Poll calls poll repeatedly, until poll fails, ctx ends or the journal is closed. poll reports
// whether it has found something; if not, Poll pauses before the next call. If left reports true
// and its duration is positive, the pause is at most that long. After throttling, an outage, or a
// request that Config.OperationTimeout has ended, Poll continues as if nothing was found.
func (j *Journal) Poll(
	ctx context.Context, pauses backoff.Pauses, poll func() (bool, error), left func() (time.Duration, bool),
) error {
	reading := j.Life.Reading()
	for idle := 0; ; {
		found, err := poll()
		switch {
		case errors.Is(err, dynamo.ErrThrottled), errors.Is(err, dynamo.ErrUnavailable), err == nil && !found,
			errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		case err != nil:
			return err
		default:
			idle = 0
			continue
		}
		next := pauses.After(idle)
		if most, bounded := left(); bounded && most > 0 {
			next = min(next, most)
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-reading.Done():
			timer.Stop()
			return context.Cause(reading)
		}
		idle++
	}
}
