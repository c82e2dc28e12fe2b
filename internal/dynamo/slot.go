package dynamo

import "context"

// Slot is a place for a request in flight. A client has [Client.MaxInFlight] of them. A request
// that is given a Slot uses it for its first attempt, and releases it. With the zero Slot, the
// request waits for a place.
type Slot struct{ slots chan struct{} }

// Reserve takes a slot for a request that the caller sends at once. It returns the zero Slot if no
// slot is free, which is always the case while other requests wait for one.
func (c *Client) Reserve() Slot {
	select {
	case c.slots <- struct{}{}:
		return Slot{c.slots}
	default:
		return Slot{}
	}
}

// acquire waits for a slot. It returns the zero Slot if ctx ends first.
func (c *Client) acquire(ctx context.Context) Slot {
	select {
	case c.slots <- struct{}{}:
		return Slot{c.slots}
	default:
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	select {
	case c.slots <- struct{}{}:
		return Slot{c.slots}
	case <-ctx.Done():
		return Slot{}
	}
}

// InFlight returns the number of requests in flight, and the number of requests that wait for a
// slot.
func (c *Client) InFlight() (sent, waiting int) { return len(c.slots), int(c.waiting.Load()) }

// IsAcquired reports whether the slot is not the zero Slot.
func (s Slot) IsAcquired() bool { return s.slots != nil }

// Release frees the slot. It does nothing for the zero Slot.
func (s Slot) Release() {
	if s.IsAcquired() {
		<-s.slots
	}
}
