package migration

import (
	"context"
	"sync"

	"github.com/dynajournal/dynajournal"
)

// Usage counts what requests use up. Put it into the hooks of a journal's configuration.
type Usage struct {
	mu   sync.Mutex
	cost dynajournal.Cost
}

// OnRequest counts a request.
func (u *Usage) OnRequest(_ context.Context, r dynajournal.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cost = u.cost.Add(r.Cost)
}

// take gives what was used up since it was last asked.
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
