package embedded_test

import (
	"sync"
	"time"
)

// testClock is a clock that moves only by its methods.
type testClock struct {
	lock sync.Mutex
	now  time.Time
}

func (c *testClock) time() time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.now = c.now.Add(d)
}
