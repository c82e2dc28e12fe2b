package dynamo

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The limit is the time that 99 of 100 of the last reads took at most, whatever was before them.
func TestSlowIsWhat99Of100ReadsTakeAtMost(t *testing.T) {
	t.Parallel()
	var times readTimes
	random := rand.New(rand.NewPCG(1, 0))
	for i := range timesNeeded {
		if times.limit() != 0 || times.spend() && i < readsPerHedge {
			t.Fatalf("a read is slow after %d reads", i)
		}
		times.took(time.Hour)
	}
	if got := times.limit(); got != time.Hour+1 {
		t.Errorf("the limit is %v, want more than %v", got, time.Hour)
	}
	for range 3 {
		for _, n := range random.Perm(timesKept) {
			times.took(time.Duration(n + 1))
		}
		if got, want := times.limit(), time.Duration(timesKept*slowPercent/100+2); got != want {
			t.Errorf("the limit is %v, want %v", got, want)
		}
	}
}
