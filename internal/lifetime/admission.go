package lifetime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Admission limits how many reads start at once. Further reads wait in the order of their arrival.
// A read that waits here uses little memory: it has a small stack and no request, while a read that
// waits for a connection has grown its stacks and built its request. Of many concurrent recoveries,
// most therefore wait here, before they use memory.
//
// A read has started when its marks and its first page have arrived. From then on it occupies no
// slot, and in particular not while the caller's code runs, which may start another read and wait
// for it.
//
// Open prepares an Admission. It is safe for concurrent use.
type Admission struct {
	room chan struct{}
	// waiting counts the reads that wait for a slot.
	waiting atomic.Int64
}

// Open sets the number of reads that start at once.
func (a *Admission) Open(room int) { a.room = make(chan struct{}, room) }

// Enter waits for a slot, until the call or the journal ends. The first call of started releases
// the slot.
func (a *Admission) Enter(call, journal context.Context) (started func(), err error) {
	if journal.Err() != nil {
		return nil, context.Cause(journal)
	}
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	select {
	case a.room <- struct{}{}:
		return sync.OnceFunc(func() { <-a.room }), nil
	case <-call.Done():
		return nil, waitError(call)
	case <-journal.Done():
		return nil, waitError(journal)
	}
}

// Waiting returns how many reads wait for a slot.
func (a *Admission) Waiting() int { return int(a.waiting.Load()) }

func waitError(ctx context.Context) error { return fmt.Errorf("wait to start: %w", context.Cause(ctx)) }
