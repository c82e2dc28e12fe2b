package lifetime

import "context"

// Relay runs the caller's code on the caller's goroutine, one call at a time, for goroutines that
// do the work of an operation. The operation is left while the caller's code runs, so that Close
// does not wait for it.
type Relay struct{ calls chan relayed }

type relayed struct {
	call   func() error
	result chan error // buffered
}

// Relay runs work in a goroutine, and the calls of the relay on this one, until work ends or a call
// fails. work must end its own goroutines before it returns.
func (o *Operation) Relay(ctx context.Context, work func(context.Context, *Relay) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r, ended := &Relay{make(chan relayed)}, make(chan error, 1)
	o.Go(func() {
		ended <- work(ctx, r)
		close(r.calls)
	})
	defer func() { // even if the caller's code panics
		cancel(nil)
		for range r.calls { // until work has ended
		}
	}()
	for c := range r.calls {
		err := o.Outside(c.call)
		c.result <- err
		if err != nil {
			return err
		}
	}
	return <-ended
}

// Call runs call on the caller's goroutine, and returns its error. It returns early if ctx ends.
func (r *Relay) Call(ctx context.Context, call func() error) error {
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
