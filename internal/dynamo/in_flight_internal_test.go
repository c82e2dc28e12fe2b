package dynamo

import (
	"testing"
	"time"
)

// took reports n successful requests to a limit.
func took(l *inFlightLimit, n int, d time.Duration) {
	for range n {
		l.took(d)
	}
}

func TestInFlightLimitFollowsTheShortestRequests(t *testing.T) {
	t.Parallel()
	const most, far, near = 64, 4 * time.Millisecond, 200 * time.Microsecond
	l := newInFlightLimit(most)
	l.processors = 2
	steps := []struct {
		name string
		n    int
		d    time.Duration
		want int
	}{
		{"at first", 0, 0, Busy},
		{"a service on this machine", 10, near, Busy},
		{"a service that is far away, before the others are forgotten", inFlightPeriod, far, Busy},
		// 20 requests of 4 ms, each with 130 µs of a processor's time, take a third of two.
		{"a service that is far away", inFlightPeriod, far, 20},
		{"requests that have waited for the processors", 10, 10 * far, 20},
		{"one that has not", 1, near, Busy},
		{"a service on the other side of the world", 3 * inFlightPeriod, 100 * time.Millisecond, most},
		{"a clock that does not move", 1, 0, Busy},
	}
	for _, s := range steps {
		if took(&l, s.n, s.d); l.now != s.want {
			t.Errorf("%s: the limit is %d, want %d", s.name, l.now, s.want)
		}
	}
}

func TestInFlightLimit_AtMostMaxInFlight(t *testing.T) {
	t.Parallel()
	l := newInFlightLimit(1)
	if l.now != 1 {
		t.Errorf("the limit is %d, want 1", l.now)
	}
	if took(&l, 1, time.Hour); l.now != 1 {
		t.Errorf("after a long request the limit is %d, want 1", l.now)
	}
}
