package clock_test

import (
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// hands is the time of clocks that a test sets.
type hands struct {
	wall    time.Time
	elapsed time.Duration
}

func newHands() (*hands, *clock.Clock) {
	h := &hands{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return h, clock.New(func() time.Time { return h.wall }, func() time.Duration { return h.elapsed })
}

func TestSince_LongestOfAllClocks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pass func(h *hands, c *clock.Clock)
		want time.Duration
	}{
		"the machine slept": {func(h *hands, _ *clock.Clock) { h.wall = h.wall.Add(time.Hour) }, time.Hour},
		"the wall clock was set back": {func(h *hands, _ *clock.Clock) {
			h.wall = h.wall.Add(-time.Hour)
			h.elapsed += time.Minute
		}, time.Minute},
		"it slept and the wall clock was set back": {func(h *hands, c *clock.Clock) {
			c.Learn(h.wall.Add(3 * time.Hour))
			h.wall = h.wall.Add(-time.Hour)
		}, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := newHands()
			c.Learn(h.wall)
			m := c.Now()
			test.pass(h, c)
			if got := c.Since(m); got != test.want {
				t.Errorf("%v have passed, want %v", got, test.want)
			}
		})
	}
}

func TestSince_ZeroMoment(t *testing.T) {
	t.Parallel()
	_, c := newHands()
	if got := c.Since(clock.Moment{}); got < 100*365*24*time.Hour {
		t.Errorf("%v have passed since the zero moment", got)
	}
}

func TestService_LastResponsePlusElapsed(t *testing.T) {
	t.Parallel()
	h, c := newHands()
	if _, ok := c.Service(); ok {
		t.Error("the service's time is known before a response")
	}
	if got := c.Latest(); !got.Equal(h.wall) {
		t.Errorf("the latest time is %v, want the wall clock's %v", got, h.wall)
	}
	c.Learn(h.wall.Add(2 * time.Hour))
	date := h.wall.Add(time.Hour)
	c.Learn(date)
	h.elapsed += time.Minute
	want := date.Add(time.Minute)
	if got, ok := c.Service(); !ok || !got.Equal(want) {
		t.Errorf("the service's time is %v, want %v", got, want)
	}
	if got := c.Latest(); !got.Equal(want) {
		t.Errorf("the latest time is %v, want the service's %v", got, want)
	}
}

func TestCompared_ResponsesSinceMoment(t *testing.T) {
	t.Parallel()
	h, c := newHands()
	c.Learn(h.wall)
	m := c.Now()
	if _, _, ok := c.Compared(m); ok {
		t.Error("a response before the moment is compared")
	}
	c.Learn(h.wall.Add(time.Hour))
	wall, service, ok := c.Compared(m)
	if !ok || service.Sub(wall) != time.Hour {
		t.Errorf("compared %v with %v, %v; want an hour", wall, service, ok)
	}
}

func TestTime_WrongWallClockIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		off, want time.Duration
	}{
		"ahead by a day": {25 * time.Hour, 0}, "behind by a day": {-25 * time.Hour, 0},
		"ahead by a second": {time.Second, time.Second}, "behind by two": {-2 * time.Second, -2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := newHands()
			right := h.wall
			h.wall = right.Add(test.off)
			if got := c.Time(); !got.Equal(h.wall) {
				t.Errorf("before the first response it is %v, want the wall clock's %v", got, h.wall)
			}
			c.Learn(right)
			h.elapsed += time.Minute
			h.wall = h.wall.Add(time.Minute)
			if got, want := c.Time(), right.Add(time.Minute+test.want); !got.Equal(want) {
				t.Errorf("it is %v, want %v", got, want)
			}
		})
	}
}
