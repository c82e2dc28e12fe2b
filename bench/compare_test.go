// Package bench_test measures the embedded engine in comparison with the AWS SDK. Each benchmark
// alternates two candidates, so that other load on the machine slows both, and reports how they
// compare.
package bench_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// candidate is one of two ways to do the same.
type candidate struct {
	name string
	// do does operation number n. It is called from many goroutines.
	do func(ctx context.Context, n int64) error
	// items is how many items one operation is about.
	items int

	done  int64
	spent time.Duration
}

// perRound is the number of operations of a candidate in a round.
const perRound = 1000

// compareTwo gives both candidates b.N operations with the same number of concurrent callers. It
// reports the items per second of each, and those of the first in percent of the second's.
func compareTwo(b *testing.B, callers int, first, second *candidate) {
	b.Helper()
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
	b.ReportMetric(100*first.rate()/second.rate(), "percent")
}

func (c *candidate) rate() float64 {
	return float64(c.done) * float64(c.items) / c.spent.Seconds()
}

// run does n operations.
func (c *candidate) run(b *testing.B, callers, n int) {
	b.Helper()
	var group sync.WaitGroup
	var next, failures atomic.Int64
	begin := time.Now()
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
	c.spent += time.Since(begin)
	c.done += int64(n)
	if failures.Load() > 0 {
		b.Fatalf("%d of %d operations of %s failed", failures.Load(), n, c.name)
	}
}
