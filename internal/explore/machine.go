package explore

import (
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// Machine is the computer that a process runs on, with the clocks that its journal reads. The wall
// clock can be wrong and is corrected in steps, the monotonic clock stops while the machine sleeps,
// and both can run fast or slow.
type Machine struct {
	service func() time.Time
	// fence is the fence window of the journals on it.
	fence time.Duration

	mu sync.Mutex
	// at is a time of the service. wall and elapsed are the machine's clocks at that time.
	at      time.Time
	wall    time.Time
	elapsed time.Duration
	// drift is the fraction by which both clocks run faster than the service's clock.
	drift  float64
	asleep bool
	// setBack is the monotonic clock when the wall clock was last set back. woke is the monotonic
	// clock when the machine last woke.
	setBack, woke time.Duration
}

// longAgo is before any event of a machine.
const longAgo = -1 << 50

// NewMachine returns a machine whose wall clock is ahead of the service's. fence is the fence
// window of the journals on it.
func NewMachine(service func() time.Time, ahead, fence time.Duration) *Machine {
	now := service()
	return &Machine{service: service, fence: fence, at: now, wall: now.Add(ahead), setBack: longAgo, woke: longAgo}
}

// Clock returns the clocks, for a journal.
func (m *Machine) Clock() *clock.Clock {
	return clock.New(
		func() time.Time {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.wall.Add(m.since())
		},
		func() time.Duration {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.elapsed + m.since()
		},
	)
}

// since returns how much both clocks have advanced since note.
func (m *Machine) since() time.Duration {
	passed := m.service().Sub(m.at)
	return passed + time.Duration(float64(passed)*m.drift)
}

// note stores the clocks before their speed is changed.
func (m *Machine) note() {
	passed := m.since()
	m.at, m.wall, m.elapsed = m.service(), m.wall.Add(passed), m.elapsed+passed
}

// Skip lets time pass in which no timer fires: the monotonic clock of a sleeping machine does not
// advance. It is called just before the service's clock advances.
func (m *Machine) Skip(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	m.at, m.wall = m.at.Add(d), m.wall.Add(d)
	if !m.asleep {
		m.elapsed += d
	}
}

// Sleep puts the machine to sleep. It reports false if its wall clock was set back within the fence
// window: the journal can't notice a sleep that is as long as the step back.
func (m *Machine) Sleep() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	if m.elapsed-m.setBack <= m.fence {
		return false
	}
	m.asleep = true
	return true
}

// Wake wakes the machine.
func (m *Machine) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	m.asleep, m.woke = false, m.elapsed
}

// Sleeps reports whether the machine sleeps.
func (m *Machine) Sleeps() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asleep
}

// Step sets the wall clock. It reports false, and does nothing, if that could hide that the machine
// has just slept.
func (m *Machine) Step(by time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	if by < 0 {
		if m.asleep || m.elapsed-m.woke <= m.fence {
			return false
		}
		m.setBack = m.elapsed
	}
	m.wall = m.wall.Add(by)
	return true
}

// Run makes both clocks run fast or slow from now on.
func (m *Machine) Run(drift float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	m.drift = drift
}

// Correct sets the wall clock right, and makes both clocks run at normal speed.
func (m *Machine) Correct() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	m.wall, m.drift = m.at, 0
}
