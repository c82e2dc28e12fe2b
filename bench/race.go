package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

// contender is one of the ways to do the same.
type contender struct {
	name string
	// do does one operation, as caller number so and so, and says how many items it was about. Each caller does one operation
	// at a time.
	do func(ctx context.Context, caller int) (items int, err error)

	mu sync.Mutex
	// latency has every operation of the turns that count, in nanoseconds.
	latency *hdrhistogram.Histogram
	// rates are the items a second of each turn that counts, cpu the time of this process for each item, in microseconds.
	rates, cpu []float64
	// operations are those of all turns, also those that don't count.
	operations int64
}

// The bounds of what is told apart: a nanosecond to a minute, by three digits.
const (
	longestLatency = int64(time.Minute)
	latencyDigits  = 3
)

// race lets contenders take turns, round by round, each time with as many callers at once. The one that begins changes with
// the round. A turn ends when its time is over, or after so many operations; 0 is no bound.
func (s *session) race(ctx context.Context, callers, operations int, contenders ...*contender) error {
	for _, c := range contenders {
		c.latency = hdrhistogram.New(1, longestLatency, latencyDigits)
	}
	for round := range warmUps + s.rounds {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			if err := c.turn(ctx, callers, operations, s.turn, round >= warmUps); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			s.step(1)
		}
	}
	return nil
}

// turn lets every caller do operations, at least one each.
func (c *contender) turn(ctx context.Context, callers, operations int, length time.Duration, counts bool) error {
	group, ctx := errgroup.WithContext(ctx)
	var begun, items atomic.Int64
	cpu, begin := processorTime(), time.Now()
	for caller := range callers {
		group.Go(func() error {
			for {
				if begun.Add(1) > int64(operations) && operations > 0 {
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
				if end.Sub(begin) >= length {
					return nil
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	spent, n := time.Since(begin), float64(items.Load())
	if counts {
		c.rates = append(c.rates, n/spent.Seconds())
		c.cpu = append(c.cpu, float64((processorTime()-cpu).Microseconds())/n)
	}
	return nil
}

func (c *contender) record(latency time.Duration, counts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations++
	if counts {
		_ = c.latency.RecordValue(min(int64(latency), longestLatency)) // which is within its bounds
	}
}

// percentile is a percentile of the latency, in microseconds.
func (c *contender) percentile(p float64) float64 {
	return float64(c.latency.ValueAtQuantile(p)) / float64(time.Microsecond)
}

// median is the one in the middle, or between the two there; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// The units of figures.
const (
	perSecond   = "1/s"
	microsecond = "µs"
	millisecond = "ms"
	requests    = "requests"
	readUnits   = "read units"
	writeUnits  = "write units"
)

// reportRates reports items a second, reportLatency percentiles, reportCPU the time of this process's for an item.
func (s *session) reportRates(ours, base *contender) error {
	return s.report("events", perSecond, median(ours.rates), median(base.rates))
}

func (s *session) reportLatency(ours, base *contender, percentiles ...float64) error {
	for _, p := range percentiles {
		if err := s.report(fmt.Sprintf("p%g", p), microsecond, ours.percentile(p), base.percentile(p)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) reportCPU(ours, base *contender) error {
	return s.report("cpu", microsecond, median(ours.cpu), median(base.cpu))
}
