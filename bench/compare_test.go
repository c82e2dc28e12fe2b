// Package bench_test measures the embedded engine in comparison with the AWS SDK. Each benchmark
// alternates two candidates, so that other load on the machine slows both, and reports their ratio.
package bench_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// candidate is one of two ways to do the same operation.
type candidate struct {
	name string
	// do runs operation number n. It is called from many goroutines.
	do func(ctx context.Context, n int64) error
	// items is the number of items of one operation.
	items int

	done  int64
	spent time.Duration
	// rounds has the items per second of each round.
	rounds []float64
}

// A candidate runs at least fewestPerRound operations in a round, and at most mostRounds rounds.
const (
	fewestPerRound = 200
	mostRounds     = 21
)

// compareTwo gives both candidates b.N operations with the same number of concurrent callers, in
// pairs of rounds. It reports the items per second of each, and the first candidate's rate in
// percent of the second's: the median of the pairs, and the range of the middle half of them.
func compareTwo(b *testing.B, callers int, first, second *candidate) {
	b.Helper()
	perRound := max(fewestPerRound, (b.N+mostRounds-1)/mostRounds)
	for left := b.N; left > 0; left -= perRound {
		n := min(left, perRound)
		pair := []*candidate{first, second}
		if (left/perRound)%2 == 1 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		for _, c := range pair {
			c.run(b, callers, n)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first.rate(), first.name+"/s")
	b.ReportMetric(second.rate(), second.name+"/s")
	pairs := make([]float64, len(first.rounds))
	for i := range pairs {
		pairs[i] = 100 * first.rounds[i] / second.rounds[i]
	}
	slices.Sort(pairs)
	b.ReportMetric(pairs[len(pairs)/2], "percent")
	b.ReportMetric(pairs[len(pairs)/4], "percent-from")
	b.ReportMetric(pairs[len(pairs)-1-len(pairs)/4], "percent-to")
}

func (c *candidate) rate() float64 {
	return float64(c.done) * float64(c.items) / c.spent.Seconds()
}

// run runs n operations.
func (c *candidate) run(b *testing.B, callers, n int) {
	b.Helper()
	var group sync.WaitGroup
	var next, failures atomic.Int64
	start := time.Now()
	for range callers {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				if err := c.do(b.Context(), c.done+i); err != nil && failures.Add(1) == 1 {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	spent := time.Since(start)
	c.spent += spent
	c.done += int64(n)
	c.rounds = append(c.rounds, float64(n)*float64(c.items)/spent.Seconds())
	if failures.Load() > 0 {
		b.Fatalf("%d of %d operations of %s failed", failures.Load(), n, c.name)
	}
}
