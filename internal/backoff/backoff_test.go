package backoff_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

func TestPauses_After(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pauses backoff.Pauses
		n      int
		want   time.Duration
	}{
		{backoff.Pauses{Shortest: 20, Longest: 100}, 0, 20},
		{backoff.Pauses{Shortest: 20, Longest: 100}, 1, 40},
		{backoff.Pauses{Shortest: 20, Longest: 100}, 2, 80},
		{backoff.Pauses{Shortest: 20, Longest: 100}, 3, 100},
		{backoff.Pauses{Shortest: 20, Longest: 100}, math.MaxInt, 100},
		{backoff.Pauses{Shortest: 20, Longest: 20}, 5, 20},
		{backoff.Pauses{Shortest: 0, Longest: 100}, math.MaxInt, 0},
		{backoff.Pauses{Shortest: 1, Longest: math.MaxInt64}, 62, 1 << 62},
		{backoff.Pauses{Shortest: 1, Longest: math.MaxInt64}, 63, math.MaxInt64},
		{backoff.Pauses{Shortest: 1, Longest: math.MaxInt64}, math.MaxInt, math.MaxInt64},
	} {
		if got := c.pauses.After(c.n); got != c.want {
			t.Errorf("%+v after %d: %d, want %d", c.pauses, c.n, got, c.want)
		}
	}
}

func TestPauses_RandomIsAtMostThePause(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 1000 {
		pause := backoff.Pauses{Shortest: 1, Longest: 10}.Random(2)
		if pause < 1 || pause > 4 {
			t.Fatalf("a pause of %d, want 1 to 4", pause)
		}
		seen[pause] = true
	}
	if len(seen) != 4 {
		t.Errorf("only %v", seen)
	}
	if got := backoff.Random(0); got != 1 {
		t.Errorf("%d, want 1", got)
	}
	if got := backoff.Random(math.MaxInt64); got < 1 {
		t.Errorf("%d, want at least 1", got)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := backoff.Wait(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(reason)
		if err := backoff.Wait(ctx, time.Hour); !errors.Is(err, reason) {
			t.Errorf("%v, want the cause", err)
		}
	})
}
