package lifetime

import "context"

// Operation is an operation that calls its caller's code: the body of a loop, a handler, an
// iterator. It counts as in progress only while the journal's own code runs. It leaves before every
// call of the caller's code, and returns afterwards, so Close never waits for that code, which may
// itself call Close. It must not be used concurrently.
type Operation struct {
	life   *Lifetime
	inside bool
	end    func()
}

// Operate starts an operation that ends with ctx, or when the journal is closed.
func (l *Lifetime) Operate(ctx context.Context) (context.Context, *Operation, error) {
	if err := l.Start(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.reading, func() { cancel(l.err) })
	return ctx, &Operation{life: l, inside: true, end: func() {
		stop()
		cancel(nil)
	}}, nil
}

// Leave marks the operation as not in progress before the caller's code runs.
func (o *Operation) Leave() {
	if o.inside {
		o.inside = false
		o.life.End()
	}
}

// Return continues the operation after the caller's code. If the journal was closed meanwhile, it
// returns an error, and the operation has to end without using the journal.
func (o *Operation) Return() error {
	if o.inside {
		return nil
	}
	if err := o.life.Start(); err != nil {
		return err
	}
	o.inside = true
	return nil
}

// Outside runs the caller's code. The error of that code takes precedence over the error of a
// journal that was closed meanwhile: if the caller has left its loop, it needs nothing more.
func (o *Operation) Outside(call func() error) error {
	o.Leave()
	err := call()
	if closed := o.Return(); err == nil {
		err = closed
	}
	return err
}

// End ends the operation, inside or outside of the caller's code.
func (o *Operation) End() {
	o.end()
	o.Leave()
}

// Go is [Lifetime.Go]. The operation must not have left.
func (o *Operation) Go(work func()) { o.life.Go(work) }
