package engine

import (
	"slices"
	"sync"
	"time"
)

// outageIDs is how many persistence ids fail, one after the other, before a process concludes that
// what the projection needs is down for all of them.
const outageIDs = 3

// unreachable says whether what a projection needs can't be reached: the target of an outbox, a SQL
// database, a table. While that is so, its triggers become debts without a call of the handler, and
// one run of a trigger after each pause finds out whether the outage is over, and one payment of
// each look.
type unreachable struct {
	mu sync.Mutex
	// ids are the persistence ids that have failed since the last success, at most outageIDs.
	ids []string
	err error
	// tried is when a run was last let through.
	tried time.Time
}

// failed notes that something could not be reached for a persistence id.
func (u *unreachable) failed(pid string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
	if len(u.ids) < outageIDs && !slices.Contains(u.ids, pid) {
		u.ids, u.tried = append(u.ids, pid), wall()
	}
}

// over notes that everything could be reached.
func (u *unreachable) over() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids, u.err = nil, nil
}

// stops returns the error of an outage, for which a run does not call the handler. It is nil if
// there is none, and for one run after each pause.
func (u *unreachable) stops(pause time.Duration) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) < outageIDs {
		return nil
	}
	now := wall() // other clocks stop while a process on Lambda is frozen
	if since := now.Sub(u.tried); since >= pause || since < 0 {
		u.tried = now
		return nil
	}
	return u.err
}

// lasts reports whether there is an outage.
func (u *unreachable) lasts() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ids) == outageIDs
}
