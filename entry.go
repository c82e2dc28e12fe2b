package dynajournal

import (
	"context"
	"fmt"
	"sync"
)

// entry is where readings begin: so many at once, the others in the order in which they came. What waits here has a small stack
// and nothing else yet, where what waits for a connection has grown its stacks and holds what it is going to send: so a crowd of
// recoveries waits here, and enters this before it does anything that takes memory.
//
// A reading has begun when its marks and its first page are there. From then on it holds no room, above all not while the
// caller's code runs: that may begin another reading, and wait for it.
type entry struct{ room chan struct{} }

func newEntry(room int) entry { return entry{make(chan struct{}, room)} }

// enter waits for room, until the call or the journal ends. leave gives the room back, once.
func (e entry) enter(call, journal context.Context) (leave func(), err error) {
	select {
	case e.room <- struct{}{}:
		return e.leaving(), nil
	case <-call.Done():
		return nil, notBegun(call)
	case <-journal.Done():
		return nil, notBegun(journal)
	}
}

func (e entry) leaving() func() { return sync.OnceFunc(func() { <-e.room }) }

func notBegun(ctx context.Context) error { return fmt.Errorf("wait to begin: %w", context.Cause(ctx)) }
