package engine

import (
	"slices"
	"sync"
)

// outageIDs is how many persistence ids fail, one after the other, before the process takes it that
// what the projection needs is down for all of them.
const outageIDs = 3

// unreachable says whether what a projection needs can't be reached: the target of an outbox, a SQL
// database, a table. While that is so, its triggers become debts without a call of the handler, and
// one payment at a time finds out whether the outage is over.
type unreachable struct {
	mu sync.Mutex
	// ids are the persistence ids that have failed since the last success, at most outageIDs.
	ids []string
	err error
}

// failed notes that something could not be reached for a persistence id.
func (u *unreachable) failed(pid string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
	if len(u.ids) < outageIDs && !slices.Contains(u.ids, pid) {
		u.ids = append(u.ids, pid)
	}
}

// over notes that everything could be reached.
func (u *unreachable) over() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids, u.err = nil, nil
}

// last returns the last error of an outage, nil if there is none.
func (u *unreachable) last() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) < outageIDs {
		return nil
	}
	return u.err
}
