package dynamo

import "context"

// Slot is one of the places for requests in flight, of which a client has [Client.MaxInFlight]. A
// request that is given a Slot uses it for its first attempt, and releases it. The zero Slot holds
// no place: the request waits for one.
type Slot struct{ slots chan struct{} }

// Reserve takes a slot for a request that the caller sends at once. It returns the zero Slot if
// none is free, which is always so while other requests wait for one.
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
	case <-ctx.Done():
		return Slot{}
	}
}

// Held reports whether the slot is a place for a request, until it is released.
func (s Slot) Held() bool { return s.slots != nil }

// Release frees the slot of a request that is not sent after all. It does nothing for the zero
// Slot.
func (s Slot) Release() {
	if s.Held() {
		<-s.slots
	}
}
