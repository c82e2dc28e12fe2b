package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

// candidate is one of the implementations that a workload compares.
type candidate struct {
	name string
	// do runs one operation and returns its number of items. Each caller runs one operation at a
	// time.
	do func(ctx context.Context, caller int) (items int, err error)

	mu sync.Mutex
	// latency has the latencies of the counted rounds, in nanoseconds.
	latency *hdrhistogram.Histogram
	// rates has the items per second of each counted round. cpu has this process's processor time
	// per item, in microseconds.
	rates, cpu []float64
	// operations counts the operations of all rounds, including the warm-ups.
	operations int64
	// traffic is the network traffic of the counted rounds.
	traffic Traffic
}

// Range and precision of the latencies: up to a minute, with three digits.
const (
	longestLatency = int64(time.Minute)
	latencyDigits  = 3
)

// compare runs the candidates one after the other, round by round, each with the same number of
// concurrent callers. Each round starts with another candidate. A candidate's round ends after
// s.roundTime, or after the given number of operations; 0 means no limit.
func (s *session) compare(ctx context.Context, callers, operations int, candidates ...*candidate) error {
	return s.alternate(ctx, callers, operations, 1, candidates)
}

// slicesOfRound is the number of slices into which compareInSlices divides a round.
const slicesOfRound = 10

// compareInSlices is like compare, but divides rounds into slices, so that the candidates alternate
// more often. It is for figures that are close to each other, because other load on the machine
// changes within a round. Its figures are reported by reportPairs.
func (s *session) compareInSlices(ctx context.Context, callers int, candidates ...*candidate) error {
	return s.alternate(ctx, callers, 0, slicesOfRound, candidates)
}

func (s *session) alternate(ctx context.Context, callers, operations, slices int, candidates []*candidate) error {
	for _, c := range candidates {
		c.latency = hdrhistogram.New(1, longestLatency, latencyDigits)
	}
	for slice := range (warmUps + s.rounds) * slices {
		for i := range candidates {
			c := candidates[(slice+i)%len(candidates)]
			length, counts := s.roundTime/time.Duration(slices), slice >= warmUps*slices
			err := s.observe(c, counts, func() error { return c.round(ctx, callers, operations, length, counts) })
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if (slice+1)%slices == 0 {
				s.step(1)
			}
		}
	}
	return nil
}

// round runs operations of all callers, at least one for each caller.
func (c *candidate) round(ctx context.Context, callers, operations int, length time.Duration, counts bool) error {
	group, ctx := errgroup.WithContext(ctx)
	var calls, items atomic.Int64
	cpu, roundStart := processorTime(), time.Now()
	for caller := range callers {
		group.Go(func() error {
			for {
				if calls.Add(1) > int64(operations) && operations > 0 {
					return nil
				}
				start := time.Now()
				n, err := c.do(ctx, caller)
				if err != nil {
					return err
				}
				end := time.Now()
				items.Add(int64(n))
				c.record(end.Sub(start), counts)
				if end.Sub(roundStart) >= length {
					return nil
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	spent, n := time.Since(roundStart), float64(items.Load())
	if counts {
		c.rates = append(c.rates, n/spent.Seconds())
		c.cpu = append(c.cpu, float64((processorTime()-cpu).Microseconds())/n)
	}
	return nil
}

func (c *candidate) record(latency time.Duration, counts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations++
	if counts {
		_ = c.latency.RecordValue(min(int64(latency), longestLatency)) // within the bounds
	}
}

// nanoseconds returns the time per item in each counted round.
func (c *candidate) nanoseconds() []float64 {
	times := make([]float64, len(c.rates))
	for i, rate := range c.rates {
		times[i] = float64(time.Second) / rate
	}
	return times
}

// percentile returns a percentile of the latency in microseconds.
func (c *candidate) percentile(p float64) float64 {
	return float64(c.latency.ValueAtQuantile(p)) / float64(time.Microsecond)
}
