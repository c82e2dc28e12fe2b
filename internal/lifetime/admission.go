package lifetime

import (
	"context"
	"fmt"
	"sync"
)

// Admission limits how many reads start at once. The others wait in the order in which they came. A
// read that waits here has a small stack and holds nothing, while a read that waits for a
// connection has grown its stacks and holds its request. So many concurrent recoveries wait here,
// before they use memory.
//
// A read has started when its marks and its first page have arrived. From then on it holds no slot,
// so in particular not while the caller's code runs, which may start another read and wait for it.
//
// Open prepares an Admission. It is safe for concurrent use.
type Admission struct{ room chan struct{} }

// Open sets the number of reads that start at once.
func (a *Admission) Open(room int) { a.room = make(chan struct{}, room) }

// Enter waits for a slot, until the call or the journal ends. The first call of begun releases the
// slot.
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
