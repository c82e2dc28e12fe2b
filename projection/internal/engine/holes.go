package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
)

// A JVM writes several events of a persistence id at the same time, so a later event can be stored
// before an earlier one. If a number is missing, its event may still come, or it was rejected and
// never will. The journal does not show which. So a projection waits for Config.HoleWait for a
// number that is missing before an event, and then passes it.
//
// The age of a hole does not depend on the clock of a machine. It is the age that is stored in the
// row plus the time since then, measured in two ways: as the time for which this process has seen
// the hole, by its monotonic clock, and as the time since the row was written, by the clock of the
// service. The longer time counts. Neither is more than the true time, so a wrong clock, a crash,
// or a machine that sleeps only makes the wait longer.

// hole is a span of missing numbers before an event. While the projection waits for it, some
// numbers in the span may be stored, as members of incomplete atomic writes.
type hole struct {
	core.Span

	// writer is the writer of the event after the hole. If the persistence id was purged and is
	// used again, the writer differs, and so it is another hole.
	writer string
	// age is the minimum time for which the hole is known to be missing.
	age time.Duration
	// at is, for a hole of a row, the time of the service at which it had this age. It is zero if
	// that time is unknown.
	at time.Time
}

// covers reports whether h includes the numbers of other, before an event of the same writer.
func (h *hole) covers(other *hole) bool {
	same := h.writer == other.writer
	return same && h.First <= other.First && h.Last >= other.Last
}

// serviceSlack bounds how much too long a time since a write may seem: times of the service have no
// fractions of a second.
const serviceSlack = 2 * time.Second

// agedHoles returns the holes of a row with their ages at now, a time of the service.
func (r *Row) agedHoles(now time.Time) []hole {
	aged := slices.Clone(r.holes)
	for i := range aged {
		if h := &aged[i]; !h.at.IsZero() {
			h.age += max(now.Sub(h.at)-serviceSlack, 0)
		}
	}
	return aged
}

// seenHole is a hole that this process has seen. Its age is the age when it was seen.
type seenHole struct {
	hole

	// at is when it was seen.
	at time.Time
	// passed reports whether it was counted as passed.
	passed bool
}

// waitingTask is a task that waits for a number. Nothing after the first missing number can be
// handled, so the journal is not read before next, unless something is stored at that number.
type waitingTask struct {
	first int64
	next  time.Time
}

// holes has the holes that this process has seen, by task.
type holes struct {
	mu      sync.Mutex
	seen    map[taskKey][]seenHole
	waiting map[taskKey]waitingTask
	// passed counts the numbers that were passed, by projection. late counts the passed numbers at
	// which an event was stored later.
	passed, late map[string]int64
}

func newHoles() *holes {
	return &holes{
		seen: map[taskKey][]seenHole{}, waiting: map[taskKey]waitingTask{},
		passed: map[string]int64{}, late: map[string]int64{},
	}
}

// age returns how long a hole was known to be missing at start, the start of the read that found
// it. The number may have been stored since. stored has the holes of the row, which was read
// before.
func (a *holes) age(key taskKey, h *hole, stored []hole, start time.Time) time.Duration {
	age := time.Duration(0)
	for i := range stored {
		if stored[i].covers(h) {
			age = max(age, stored[i].age)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.seen[key] {
		if s := &a.seen[key][i]; s.covers(h) {
			age = max(age, s.age+start.Sub(s.at))
		}
	}
	return age
}

// see records the holes of a task: open ones, which the task waits for, and passed ones. It returns
// the passed holes that were not counted before.
func (a *holes) see(key taskKey, open, passed []hole) []hole {
	a.mu.Lock()
	defer a.mu.Unlock()
	var now []seenHole
	var fresh []hole
	for _, h := range open {
		now = append(now, seenHole{h, time.Now(), false})
	}
	for _, h := range passed {
		counted := slices.ContainsFunc(a.seen[key], func(s seenHole) bool { return s.passed && s.covers(&h) })
		if now = append(now, seenHole{h, time.Now(), true}); !counted {
			fresh = append(fresh, h)
			a.passed[key.name] += h.Last - h.First + 1
		}
	}
	delete(a.waiting, key)
	if a.seen[key] = now; len(now) == 0 {
		delete(a.seen, key)
	}
	return fresh
}

// wait records that a task waits for a number, and for how long its journal need not be read.
func (a *holes) wait(key taskKey, first int64, left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[key] = waitingTask{first, time.Now().Add(left)}
}

// waitsFor returns the number that a task waits for, and for how long its journal need not be read.
func (a *holes) waitsFor(key taskKey) (int64, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.waiting[key]
	if !ok {
		return 0, 0
	}
	return h.first, time.Until(h.next)
}

// forget removes the holes that a task waits for, after they were stored in the row.
func (a *holes) forget(key taskKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, key)
	if !slices.ContainsFunc(a.seen[key], func(s seenHole) bool { return s.passed }) {
		delete(a.seen, key)
	}
}

// addLate counts events that were stored too late.
func (a *holes) addLate(projection string, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late[projection] += n
}

// addTo sets the counts in the lags of projections.
func (a *holes) addTo(lags map[string]*Lag) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, of := range lags {
		of.Passed, of.Late = a.passed[name], a.late[name]
	}
}
