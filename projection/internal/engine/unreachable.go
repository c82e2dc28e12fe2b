package engine

import (
	"slices"
	"sync"
	"time"
)

// outageIDs is how many persistence ids must fail, without a success between them, before a process
// concludes that something the projection needs is down for all persistence ids.
const outageIDs = 3

// unreachable detects an outage of something that a projection needs: the target of an outbox, a
// SQL database, a table. During an outage, triggers become debts without a call of the handler. One
// run of a trigger after each pause, and one payment in each poll, find out whether the outage is
// over.
type unreachable struct {
	mu sync.Mutex
	// ids has the persistence ids that have failed since the last success, at most outageIDs.
	ids []string
	err error
	// tried is when a run was last let through.
	tried time.Time
}

// failed records that something could not be reached for a persistence id.
func (u *unreachable) failed(pid string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
	if len(u.ids) < outageIDs && !slices.Contains(u.ids, pid) {
		u.ids, u.tried = append(u.ids, pid), wall()
	}
}

// over records that everything could be reached.
func (u *unreachable) over() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids, u.err = nil, nil
}

// stops returns the error of an outage, which keeps a run from calling the handler. It returns nil
// without an outage, and for one run after each pause.
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
