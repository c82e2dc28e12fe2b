package migration

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
)

// runWithRetries runs do for a persistence id, and retries it after throttling and outages. It
// records an error that concerns only this id as a failure, and returns an error that concerns all
// ids.
func (r *run) runWithRetries(ctx context.Context, pid string, do func(context.Context, string) error) error {
	for try := 0; ; try++ {
		err := do(ctx, pid)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case temporary(err) && try < r.opts.Retries:
			if err := r.pause(ctx, try); err != nil {
				return err
			}
			continue
		case temporary(err), concernsAll(err):
			return err
		}
		r.count(func(s *Summary) {
			s.Failed++
			if len(s.Failures) < MaxFailures {
				s.Failures = append(s.Failures, Failure{pid, err})
			}
		})
		return nil
	}
}

// temporary reports whether a retry may succeed after err.
func temporary(err error) bool {
	return errors.Is(err, dynajournal.ErrThrottled) || errors.Is(err, dynajournal.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded)
}

func concernsAll(err error) bool {
	return slices.ContainsFunc([]error{dynajournal.ErrClosed, dynajournal.ErrDenied, dynajournal.ErrTableNotFound, errState},
		func(all error) bool { return errors.Is(err, all) })
}

// longestPause is the longest pause before a retry, in units of Options.Pause.
const longestPause = 64

// pause waits before a retry.
func (r *run) pause(ctx context.Context, try int) error {
	shortest := min(r.opts.Pause, math.MaxInt64/longestPause)
	pauses := backoff.Pauses{Shortest: shortest, Longest: longestPause * shortest}
	return backoff.Wait(ctx, pauses.Random(try))
}
