package entity_test

import (
	"context"
	"sync"

	"github.com/dynajournal/dynajournal"
)

// costs adds up the costs of a journal's requests. It locks because hooks are called from many
// goroutines: a recovery has two requests in flight.
type costs struct {
	mu  sync.Mutex
	sum dynajournal.Cost
}

// install adds the hook to a configuration.
func (c *costs) install(config *dynajournal.Config) {
	config.Hooks = append(config.Hooks, dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sum = c.sum.Add(r.Cost)
	}})
}

// take returns the cost since the last call.
func (c *costs) take() dynajournal.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.sum
	c.sum = dynajournal.Cost{}
	return sum
}
