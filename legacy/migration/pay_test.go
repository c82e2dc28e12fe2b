package migration

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPay_WaitsForUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := limiter(10)
		for range 21 {
			if err := waitForUnits(t.Context(), l, 5); err != nil {
				t.Fatal(err)
			}
		}
		// The first 10 of 105 are free.
		if took := time.Since(start).Round(time.Millisecond); took != 9500*time.Millisecond {
			t.Errorf("105 units at 10 a second took %v, want 9.5 s", took)
		}
		if err := waitForUnits(t.Context(), l, 1000); err != nil { // more than the burst
			t.Error(err)
		}
		if err := waitForUnits(t.Context(), nil, 1e9); err != nil {
			t.Error(err)
		}
	})
}
