package lifetime

import (
	"context"
	"fmt"
	"sync"
)

// Admission limits how many readings begin at once; the others wait in the order in which they
// came. A reading that waits here has a small stack and holds nothing yet, while one that waits for
// a connection has grown its stacks and holds what it is going to send. So a crowd of recoveries
// waits here, before it does anything that takes memory.
//
// A reading has begun when its marks and its first page are there. From then on it takes no room,
// above all not while the caller's code runs: that may begin another reading, and wait for it.
//
// Open makes it ready. It is safe for concurrent use.
type Admission struct{ room chan struct{} }

// Open makes it ready for so many readings at once.
func (a *Admission) Open(room int) { a.room = make(chan struct{}, room) }

// Enter waits for room, until the call or the journal ends. begun gives the room back, the first
// time that it is called.
func (a *Admission) Enter(call, journal context.Context) (begun func(), err error) {
	if journal.Err() != nil {
		return nil, context.Cause(journal)
	}
	select {
	case a.room <- struct{}{}:
		return sync.OnceFunc(func() { <-a.room }), nil
	case <-call.Done():
		return nil, notBegun(call)
	case <-journal.Done():
		return nil, notBegun(journal)
	}
}

func notBegun(ctx context.Context) error { return fmt.Errorf("wait to begin: %w", context.Cause(ctx)) }
