package migration

import (
	"context"
	"sync"

	"github.com/dynajournal/dynajournal"
)

// Usage counts the capacity that requests use. Its hook goes into the configuration of a journal.
type Usage struct {
	mu   sync.Mutex
	cost dynajournal.Cost
}

// Hook returns the hook that counts requests.
func (u *Usage) Hook() dynajournal.Hook { return dynajournal.Hook{OnRequest: u.count} }

func (u *Usage) count(_ context.Context, r dynajournal.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cost = u.cost.Add(r.Cost)
}

// take returns the capacity that was used since the last call.
func (u *Usage) take() dynajournal.Cost {
	if u == nil {
		return dynajournal.Cost{}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	used := u.cost
	u.cost = dynajournal.Cost{}
	return used
}
