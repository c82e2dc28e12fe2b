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

// compareOpen runs the candidates one after the other, round by round. Operations arrive at a rate
// in operations per second, whether earlier operations are done or not. The operations of one
// caller wait for each other. Latencies are measured from the arrival, so they include this wait.
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

// openRounds is the factor by which a round of an open loop is longer, because at a low rate it has
// few operations.
const openRounds = 3

// arrivals are Poisson arrivals of a number of callers, each with its share of the rate. All
// candidates of a round get the same arrivals.
type arrivals struct {
	callers int
	// rate is the number of arrivals per second of all callers together.
	rate   float64
	length time.Duration
	seed   uint64
}

// of returns a function that returns the times of a caller's arrivals since the start of the round,
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

// openRound runs an operation for each arrival, and waits for all operations.
func (c *candidate) openRound(ctx context.Context, a arrivals, counts bool) error {
	group, ctx := errgroup.WithContext(ctx)
	var items atomic.Int64
	cpu, start := processorTime(), time.Now()
	for caller := range a.callers {
		group.Go(func() error {
			next := a.of(caller)
			for at, more := next(); more; at, more = next() {
				if err := sleep(ctx, at-time.Since(start)); err != nil {
					return err
				}
				n, err := c.do(ctx, caller)
				if err != nil {
					return err
				}
				items.Add(int64(n))
				c.record(time.Since(start)-at, counts)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if n := float64(items.Load()); counts && n > 0 {
		c.rates = append(c.rates, n/max(time.Since(start), a.length).Seconds())
		c.cpu = append(c.cpu, float64((processorTime()-cpu).Microseconds())/n)
	}
	return nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return backoff.Wait(ctx, d)
}
