package lifetime

import "context"

// Operation is an operation that calls its caller's code: the body of a loop, a handler, an
// iterator. It counts as under way only while the journal's own code runs. Around every call of the
// caller's code it leaves and returns, so that Close, which may be called in that very code, never
// waits for it. It belongs to one goroutine.
type Operation struct {
	life   *Lifetime
	inside bool
	end    func()
}

// Operate enters an operation that ends with ctx, or when the journal is closed.
func (l *Lifetime) Operate(ctx context.Context) (context.Context, *Operation, error) {
	if _, err := l.Begin(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.reading, func() { cancel(l.err) })
	return ctx, &Operation{life: l, inside: true, end: func() {
		stop()
		cancel(nil)
	}}, nil
}

// Leave ends the journal's part of the operation before the caller's code runs.
func (o *Operation) Leave() {
	if o.inside {
		o.inside = false
		o.life.done()
	}
}

// Return goes on with the operation after the caller's code. If the journal was closed meanwhile it
// fails, and the operation has to end without using the journal.
func (o *Operation) Return() error {
	if o.inside {
		return nil
	}
	if _, err := o.life.Begin(); err != nil {
		return err
	}
	o.inside = true
	return nil
}

// Outside runs the caller's code. Its own error counts before that of a journal that was closed
// meanwhile: a loop that was left takes nothing more.
func (o *Operation) Outside(call func() error) error {
	o.Leave()
	err := call()
	if closed := o.Return(); err == nil {
		err = closed
	}
	return err
}

// End ends the operation, wherever it is.
func (o *Operation) End() {
	o.end()
	o.Leave()
}

// Go is Lifetime.Go; the operation must not have left.
func (o *Operation) Go(work func()) { o.life.Go(work) }
