package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

// relay has the caller's code run on the caller's goroutine, one call at a time, for goroutines
// that work for it. While it runs the operation has left, so that nobody who closes the journal
// waits for it.
type relay struct{ calls chan relayed }

type relayed struct {
	call   func() error
	result chan error // has room for the one result
}

// runWithRelay runs work in a goroutine, and what work has called on this one, until work ends. The
// first call that fails ends it. Work must have ended its own goroutines when it returns.
func runWithRelay(ctx context.Context, op *lifetime.Operation, work func(context.Context, *relay) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r, ended := &relay{make(chan relayed)}, make(chan error, 1)
	op.Go(func() {
		ended <- work(ctx, r)
		close(r.calls)
	})
	defer func() { // also where the caller's code panics
		cancel(nil)
		for range r.calls { // until work has ended
		}
	}()
	for c := range r.calls {
		err := op.Outside(c.call)
		c.result <- err
		if err != nil {
			return err
		}
	}
	return <-ended
}

// call runs a call where the relay runs them, and returns its error. It does not wait longer than
// ctx.
func (r *relay) call(ctx context.Context, call func() error) error {
	c := relayed{call, make(chan error, 1)}
	select {
	case r.calls <- c:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-c.result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
