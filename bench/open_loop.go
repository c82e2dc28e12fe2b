package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// compareOpen runs the candidates one after the other, round by round, with operations that arrive
// at a rate, in operations a second, whether those before them are done or not. The operations of
// a caller wait for each other, and its latencies count from the arrivals, so that they include
// the wait.
func (s *session) compareOpen(ctx context.Context, callers, rate int, candidates ...*candidate) error {
	for _, c := range candidates {
		c.latency = hdrhistogram.New(1, longestLatency, latencyDigits)
	}
	for round := range warmUps + s.rounds {
		for i := range candidates {
			c := candidates[(round+i)%len(candidates)]
			a := arrivals{callers: callers, rate: float64(rate), length: openRounds * s.roundTime, seed: uint64(round)}
			if err := s.observe(c, round >= warmUps, func() error { return c.openRound(ctx, a, round >= warmUps) }); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			s.step(1)
		}
	}
	return nil
}

// openRounds is how many times longer a round of an open loop is: at a low rate it has few
// operations.
const openRounds = 3

// arrivals are Poisson arrivals of a number of callers, each with its share of the rate. All
// candidates of a round get the same.
type arrivals struct {
	callers int
	// rate is the number of arrivals a second of all callers.
	rate   float64
	length time.Duration
	seed   uint64
}

// of returns a function that returns the times of a caller's arrivals since the begin of the round,
// one after the other, and false at the end.
func (a arrivals) of(caller int) func() (time.Duration, bool) {
	random := rand.New(rand.NewPCG(a.seed, uint64(caller))) //nolint:gosec // no secret
	mean := float64(a.callers) / a.rate * float64(time.Second)
	at := 0.
	return func() (time.Duration, bool) {
		at += random.ExpFloat64() * mean
		return time.Duration(at), at < float64(a.length)
	}
}

// openRound does an operation for each arrival, and waits for all of them.
func (c *candidate) openRound(ctx context.Context, a arrivals, counts bool) error {
	group, ctx := errgroup.WithContext(ctx)
	var items atomic.Int64
	cpu, begin := processorTime(), time.Now()
	for caller := range a.callers {
		group.Go(func() error {
			next := a.of(caller)
			for at, more := next(); more; at, more = next() {
				if err := sleep(ctx, at-time.Since(begin)); err != nil {
					return err
				}
				n, err := c.do(ctx, caller)
				if err != nil {
					return err
				}
				items.Add(int64(n))
				c.record(time.Since(begin)-at, counts)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if n := float64(items.Load()); counts && n > 0 {
		c.rates = append(c.rates, n/max(time.Since(begin), a.length).Seconds())
		c.cpu = append(c.cpu, float64((processorTime()-cpu).Microseconds())/n)
	}
	return nil
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return backoff.Wait(ctx, d)
}
