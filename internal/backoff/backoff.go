// Package backoff has the pauses between attempts, and between reads that find nothing.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses are pauses that double from Shortest to Longest. None is longer than Longest. Neither
// field is negative.
type Pauses struct{ Shortest, Longest time.Duration }

// After returns the pause after n pauses in a row: Shortest for n = 0, then twice the pause before,
// up to Longest.
func (p Pauses) After(n int) time.Duration {
	pause := p.Shortest
	for ; n > 0 && pause > 0; n-- {
		if pause > p.Longest/2 {
			return p.Longest
		}
		pause *= 2
	}
	return min(pause, p.Longest)
}

// Random returns a random pause from 1 nanosecond to After(n), so that clients which failed
// together do not retry together. See "Exponential Backoff And Jitter" in the AWS Architecture
// Blog (2015), where this is "full jitter".
//
// It is never 0, because timers that have run out before they are received from crash the race
// detector of Go 1.26 when two goroutines of a synctest bubble receive from them at the same time.
func (p Pauses) Random(n int) time.Duration { return Random(p.After(n)) }

// Random returns a random pause from 1 nanosecond to longest. A longest of 0 counts as 1.
func Random(longest time.Duration) time.Duration {
	return 1 + rand.N(max(longest, 1)) //nolint:gosec // jitter needs no secrecy
}

// Wait waits for d. If ctx ends earlier, it returns the cause of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
