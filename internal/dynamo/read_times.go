package dynamo

import (
	"slices"
	"sync"
	"time"
)

const (
	// timesKept is how many of the last reads of an operation are known.
	timesKept = 1000
	// timesNeeded is how many are needed before one counts as slow. The limit is determined again
	// after as many further ones.
	timesNeeded = 100
	// slowPercent is the percentage of reads that take less time than a slow one.
	slowPercent = 99
	// readsPerHedge is how many reads of an operation allow one to be sent a second time. So a
	// service that has become slow gets at most this much more to do. mostInARow is how many are
	// allowed in a row.
	readsPerHedge = 50
	mostInARow    = 5
)

// readTimes knows how long the last reads of an operation took, and how many may be sent a second
// time. It is safe for concurrent use. The zero value is ready for use.
type readTimes struct {
	mu   sync.Mutex
	last []time.Duration
	next int // where the next one goes
	// slow is the time after which a read is slow, 0 if it is not known yet.
	slow time.Duration
	// since is the number of reads since slow was determined.
	since int
	// unspent is the number of reads for which none was sent a second time.
	unspent int
}

// took takes note of a read that has succeeded.
func (t *readTimes) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unspent = min(t.unspent+1, readsPerHedge*mostInARow)
	if len(t.last) < timesKept {
		t.last = append(t.last, d)
	} else {
		t.last[t.next] = d
		t.next = (t.next + 1) % timesKept
	}
	if t.since++; t.since < timesNeeded {
		return
	}
	t.since = 0
	sorted := slices.Sorted(slices.Values(t.last))
	t.slow = sorted[len(sorted)*slowPercent/100] + 1
}

// limit returns the time after which a read is slow, 0 if that is not known.
func (t *readTimes) limit() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slow
}

// spend reports whether a read may be sent a second time, and counts it.
func (t *readTimes) spend() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unspent < readsPerHedge {
		return false
	}
	t.unspent -= readsPerHedge
	return true
}
