package bench

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A service that stalls once delays all operations that arrive meanwhile. Measured from the
// arrival, the latency of each includes its wait. Measured from the start of the operation, only
// one latency would show the stall.
func TestOpenLoopCountsFromTheArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const stall = 5 * time.Second
		stalled := false
		c := &candidate{latency: hdrhistogram.New(1, longestLatency, latencyDigits), do: func(context.Context, int) (int, error) {
			if !stalled {
				stalled = true
				time.Sleep(stall) // in the bubble
			}
			return 1, nil
		}}
		a := arrivals{callers: 1, rate: 100, length: 2 * stall, seed: 1}
		if err := c.openRound(t.Context(), a, true); err != nil {
			t.Fatal(err)
		}
		n := c.latency.TotalCount()
		if n < 900 || n > 1100 {
			t.Errorf("%d arrivals, want about 1000", n)
		}
		if got, want := c.latency.Mean(), float64(stall)/4; math.Abs(got-want) > want/10 {
			t.Errorf("the mean latency is %v, want about %v", time.Duration(got), time.Duration(want))
		}
		if len(c.rates) != 1 || c.rates[0] > 110 {
			t.Errorf("rates %v, want the rate of the arrivals", c.rates)
		}
	})
}
