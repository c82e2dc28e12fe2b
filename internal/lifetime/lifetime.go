// Package lifetime closes a journal: it refuses new operations, ends reads at once, and waits for
// writes in flight.
package lifetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Lifetime counts the operations of a journal, and ends them. Open prepares a Lifetime for use.
type Lifetime struct {
	err error
	// under counts the operations and goroutines in progress. closing is added to it when the
	// journal is closed; then nothing new starts.
	under atomic.Int64
	close sync.Once
	// over is closed when closing was added to under and nothing is in progress.
	over     chan struct{}
	idleOnce sync.Once

	// reading ends when the journal is closed. writing ends when the time limit of Close is over.
	reading, writing         context.Context //nolint:containedctx // the journal's own, not a call's
	stopReading, stopWriting context.CancelCauseFunc
}

// closing is larger than any possible number of operations in progress.
const closing = 1 << 62

// Open prepares a Lifetime. Every operation after Close fails with closed.
func (l *Lifetime) Open(closed error) {
	l.err = closed
	l.over = make(chan struct{})
	l.reading, l.stopReading = context.WithCancelCause(context.Background())
	l.writing, l.stopWriting = context.WithCancelCause(context.Background())
}

// Close refuses new operations, ends reads and waits for writes. It ends writes that take longer
// than patience. It does not wait for an operation that has left to run the caller's code.
func (l *Lifetime) Close(patience time.Duration) {
	l.close.Do(func() { l.count(closing) })
	l.stopReading(l.err)
	timer := time.AfterFunc(patience, func() { l.stopWriting(l.err) })
	<-l.over
	timer.Stop()
	l.stopWriting(l.err)
}

func (l *Lifetime) count(n int64) {
	if l.under.Add(n) == closing {
		l.idleOnce.Do(func() { close(l.over) })
	}
}

// Start starts an operation, which End must end once.
func (l *Lifetime) Start() error {
	if l.under.Add(1) > closing {
		l.End()
		return l.err
	}
	return nil
}

// End ends an operation that has started.
func (l *Lifetime) End() { l.count(-1) }

// Go runs work in a goroutine that Close waits for. The caller must itself be in progress: an
// operation that has not left, or a goroutine that Go has started.
func (l *Lifetime) Go(work func()) {
	l.under.Add(1)
	go func() {
		defer l.End()
		work()
	}()
}

// Read starts an operation that ends with ctx, or when the journal is closed. An operation that
// calls the caller's code must be started by Operate instead.
func (l *Lifetime) Read(ctx context.Context) (context.Context, func(), error) {
	ctx, o, err := l.Operate(ctx)
	if err != nil {
		return nil, nil, err
	}
	return ctx, o.End, nil
}

// Reading returns a context that ends when the journal is closed.
func (l *Lifetime) Reading() context.Context { return l.reading }

// Writing returns a context that ends when no write continues.
func (l *Lifetime) Writing() context.Context { return l.writing }

// ReadForWrite returns the context of a read that belongs to a write: it ends with ctx, or when no
// write continues.
func (l *Lifetime) ReadForWrite(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.writing, func() { cancel(l.err) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Write returns the context for the requests of a write. It continues after ctx has ended, because
// requests that were sent may have been applied, but it ends when Close ends writes. Each request
// has its own timeout, which does not run while it waits for a connection.
func (l *Lifetime) Write(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(l.writing, func() { end(l.err) })
	return ctx, func(cause error) {
		stop()
		end(cause)
	}
}
