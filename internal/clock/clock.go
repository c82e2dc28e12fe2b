// Package clock reads three clocks, because each of them alone can be wrong: the wall clock jumps
// when it is corrected, the monotonic clock stops while the machine sleeps, and the service's time
// is known only from its responses.
package clock

import (
	"math"
	"sync/atomic"
	"time"
)

// Clock reads the time. It is safe for concurrent use.
type Clock struct {
	// read reads the wall clock and the monotonic clock.
	read    func() (time.Time, time.Duration)
	learned atomic.Pointer[learned]
}

// learned is the service's time in a response, with the local time of its arrival.
type learned struct {
	date time.Time
	// wall and elapsed are the local clocks when the response arrived.
	wall    time.Time
	elapsed time.Duration
	// number is the number of the response. It orders responses and moments.
	number int64
}

// Moment is a point in time on all clocks. The zero Moment is older than any other. It is small,
// because each writer in memory has several.
type Moment struct {
	// wall and service are in nanoseconds since 1970. If number is 0, the service's time was
	// unknown, and service is not set.
	wall, service int64
	elapsed       time.Duration
	number        int64
}

// System returns the clock of the machine.
func System() *Clock {
	start := time.Now()
	return &Clock{read: func() (time.Time, time.Duration) {
		now := time.Now() // which reads both
		return now.Round(0), now.Sub(start)
	}}
}

// New returns a Clock that reads a wall clock and a monotonic clock.
func New(wall func() time.Time, elapsed func() time.Duration) *Clock {
	return &Clock{read: func() (time.Time, time.Duration) { return wall(), elapsed() }}
}

// Now returns the present moment.
func (c *Clock) Now() Moment {
	l := c.learned.Load()
	wall, elapsed := c.read()
	m := Moment{wall: nanoseconds(wall), elapsed: elapsed}
	if l != nil {
		m.service, m.number = nanoseconds(l.at(m.elapsed)), l.number
	}
	return m
}

// The bounds of the times whose nanoseconds since 1970 fit into an int64.
var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

// nanoseconds returns a time in nanoseconds since 1970. For a clock that is centuries off, it
// returns the nearest time that fits.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// between returns the time from one moment of a clock to another, or the longest Duration if it is
// longer.
func between(from, to int64) time.Duration { return time.Unix(0, to).Sub(time.Unix(0, from)) }

// Since returns the time since a moment: see [Moment.Until].
func (c *Clock) Since(m Moment) time.Duration { return m.Until(c.Now()) }

// UnixMicro returns the local wall clock, in microseconds since 1970.
func (m Moment) UnixMicro() int64 { return m.wall / int64(time.Microsecond) }

// Until returns the time from one moment to a later one: the longest of the times by the wall
// clock, the monotonic clock and the service's clock.
func (m Moment) Until(now Moment) time.Duration {
	if m == (Moment{}) {
		return math.MaxInt64
	}
	passed := max(between(m.wall, now.wall), now.elapsed-m.elapsed)
	if m.number == 0 || now.number == 0 {
		return passed
	}
	return max(passed, between(m.service, now.service))
}

// Wall returns the local wall clock.
func (c *Clock) Wall() time.Time {
	wall, _ := c.read()
	return wall
}

// Learn records the service's time from a response that has just arrived. The time in the latest
// response is used.
func (c *Clock) Learn(date time.Time) {
	next := &learned{date: date}
	next.wall, next.elapsed = c.read()
	for {
		last := c.learned.Load()
		if last != nil {
			next.number = last.number
		}
		next.number++
		if c.learned.CompareAndSwap(last, next) {
			return
		}
	}
}

// Service returns the service's time now: the time in the last response, plus the monotonic time
// since. It reports false before the first response. If the machine slept since the last response,
// the result is late by the time it slept.
func (c *Clock) Service() (time.Time, bool) {
	l := c.learned.Load()
	if l == nil {
		return time.Time{}, false
	}
	_, elapsed := c.read()
	return l.at(elapsed), true
}

// maxSkew is the largest difference from the service's time at which the local wall clock is still
// used. The service's time has whole seconds, and is as old as its response.
const maxSkew = 5 * time.Second

// Time returns the present time: the local wall clock if it is within 5 seconds of the service's
// time, or if the service's time is unknown, and otherwise the service's time. If the machine
// slept, the service's time is late by the time it slept, until the next response.
func (c *Clock) Time() time.Time {
	wall := c.Wall()
	service, known := c.Service()
	if known && wall.Sub(service).Abs() > maxSkew {
		return service
	}
	return wall
}

// ServiceOrWall returns the service's time, or the local wall clock if the service's time is
// unknown.
func (c *Clock) ServiceOrWall() time.Time {
	if service, known := c.Service(); known {
		return service
	}
	return c.Wall()
}

// Latest returns the later of the local wall clock and the service's time.
func (c *Clock) Latest() time.Time {
	wall := c.Wall()
	if service, ok := c.Service(); ok && service.After(wall) {
		return service
	}
	return wall
}

// Earliest returns the earlier of the local wall clock and the service's time.
func (c *Clock) Earliest() time.Time {
	wall := c.Wall()
	if service, ok := c.Service(); ok && service.Before(wall) {
		return service
	}
	return wall
}

// Skew returns how far the service's time was ahead of the wall clock when the last response
// arrived, and that time of the wall clock. Both are zero before the first response. The service
// reports whole seconds, so the result is up to a second too small.
func (c *Clock) Skew() (ahead time.Duration, at time.Time) {
	l := c.learned.Load()
	if l == nil {
		return 0, time.Time{}
	}
	return l.date.Sub(l.wall), l.wall
}

// Compared returns the wall clock and the service's time at the arrival of the last response since
// a moment. It reports false if there was no response since: an older comparison proves nothing,
// because the clock may have been corrected in between.
func (c *Clock) Compared(since Moment) (wall, service time.Time, ok bool) {
	l := c.learned.Load()
	if l == nil || l.number == since.number {
		return time.Time{}, time.Time{}, false
	}
	return l.wall, l.date, true
}

func (l *learned) at(elapsed time.Duration) time.Time { return l.date.Add(elapsed - l.elapsed) }
