package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
)

// A JVM writes several events of a persistence id at the same time, so a later one can be stored
// before an earlier one. Where a number is missing, the earlier one may still come, or it was
// rejected and never will. Nothing tells which. So a number that is missing before an event is
// waited for, for Config.HoleWait, and then passed.
//
// How long it was missing is known without the clock of a machine: it is the time that a process
// has seen it missing, by its monotonic clock, after the time that was stored in the row when the
// process saw it first; or the time since that was stored, by the clock of the service. Both are at
// most the true time. So a wrong clock, a crash, and a machine that sleeps only make the wait
// longer.

// hole is a span of missing numbers before an event. If it is waited for, some in the span may be
// there, as members of incomplete atomic writes.
type hole struct {
	core.Span

	// writer is that of the event after it. If the persistence id was purged and is used again,
	// that is another one: the hole is not the same.
	writer string
	// age is how long it is known to be missing at least. In a row, at is the time of the service
	// at which it had this age, zero if that is not known.
	age time.Duration
	at  time.Time
}

// covers reports whether the numbers of other are among those of h, before an event of the same
// writer.
func (h *hole) covers(other *hole) bool {
	same := h.writer == other.writer
	return same && h.First <= other.First && h.Last >= other.Last
}

// serviceSlack is by how much the time since something was stored may seem to be longer than it is:
// the times of the service have no fractions of a second.
const serviceSlack = 2 * time.Second

// agedHoles returns the holes of a row with the ages that they have at a time of the service.
func (r *Row) agedHoles(now time.Time) []hole {
	aged := slices.Clone(r.holes)
	for i := range aged {
		if h := &aged[i]; !h.at.IsZero() {
			h.age += max(now.Sub(h.at)-serviceSlack, 0)
		}
	}
	return aged
}

// seenHole is a hole that this process has seen. Its age is that at the time of the sighting.
type seenHole struct {
	hole

	at time.Time
	// passed reports that it was counted as passed.
	passed bool
}

// heldTask is a task that waits for a number. It is not read before next, unless something is
// stored there: nothing behind the first missing number can be handled.
type heldTask struct {
	first int64
	next  time.Time
}

// holes are the holes that this process has seen, by task.
type holes struct {
	mu   sync.Mutex
	seen map[taskKey][]seenHole
	held map[taskKey]heldTask
	// passed and late are how many numbers were passed, and at how many of them an event came
	// later, by projection.
	passed, late map[string]int64
}

func newHoles() *holes {
	return &holes{
		seen: map[taskKey][]seenHole{}, held: map[taskKey]heldTask{},
		passed: map[string]int64{}, late: map[string]int64{},
	}
}

// age returns how long a hole was known to be missing when the reading began that found it. Since
// then the number may have been stored. stored are the holes of the row, which was read before.
func (a *holes) age(key taskKey, h *hole, stored []hole, began time.Time) time.Duration {
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
			age = max(age, s.age+began.Sub(s.at))
		}
	}
	return age
}

// see notes the holes of a task: those that are waited for, and those that are passed. It returns
// the ones that were not counted as passed before.
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
	delete(a.held, key)
	if a.seen[key] = now; len(now) == 0 {
		delete(a.seen, key)
	}
	return fresh
}

// hold notes that a task waits for a number.
func (a *holes) hold(key taskKey, first int64, left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[key] = heldTask{first, time.Now().Add(left)}
}

// holds returns the number that a task waits for, and for how long it need not be read.
func (a *holes) holds(key taskKey) (int64, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.held[key]
	if !ok {
		return 0, 0
	}
	return h.first, time.Until(h.next)
}

// forget forgets what a task waits for: the row has it.
func (a *holes) forget(key taskKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.held, key)
	if !slices.ContainsFunc(a.seen[key], func(s seenHole) bool { return s.passed }) {
		delete(a.seen, key)
	}
}

// addLate counts events that came too late.
func (a *holes) addLate(projection string, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late[projection] += n
}

// addTo adds the counts to the lags of projections.
func (a *holes) addTo(lags map[string]*Lag) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, of := range lags {
		of.Passed, of.Late = a.passed[name], a.late[name]
	}
}
