// Package lifetime lets a journal end: nothing new begins, reading stops at once, and what was sent
// is waited for.
package lifetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Lifetime counts what is under way in a journal, and ends it. Open makes it ready for use.
type Lifetime struct {
	err error
	// under counts the operations and goroutines under way. Once closing is added to it nothing
	// begins any more.
	under atomic.Int64
	close sync.Once
	// over is closed when nothing is under way any more, after closing was added.
	over    chan struct{}
	overing sync.Once

	// reading ends at once when the journal is closed, writing when its time is up.
	reading, writing         context.Context //nolint:containedctx // the journal's own, not a call's
	stopReading, stopWriting context.CancelCauseFunc
}

// closing is more than can be under way at once.
const closing = 1 << 62

// Open makes it ready. closed is what everything that comes after Close fails with.
func (l *Lifetime) Open(closed error) {
	l.err = closed
	l.over = make(chan struct{})
	l.reading, l.stopReading = context.WithCancelCause(context.Background())
	l.writing, l.stopWriting = context.WithCancelCause(context.Background())
}

// Close refuses what is new, ends reading, waits for writing, and ends that too when it takes
// longer than patience. It does not wait for an operation that has left for the caller's code.
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
		l.overing.Do(func() { close(l.over) })
	}
}

func (l *Lifetime) done() { l.count(-1) }

// Begin enters an operation; done must be called at its end, once.
func (l *Lifetime) Begin() (done func(), err error) {
	if l.under.Add(1) > closing {
		l.done()
		return nil, l.err
	}
	return l.done, nil
}

// Go runs work in a goroutine that Close waits for. Who calls it is under way itself: an operation
// that has not left, or a goroutine that was begun by Go.
func (l *Lifetime) Go(work func()) {
	l.under.Add(1)
	go func() {
		defer l.done()
		work()
	}()
}

// Read enters an operation that ends with ctx, or when the journal is closed. It must not call the
// caller's code; one that does is entered by Operate.
func (l *Lifetime) Read(ctx context.Context) (context.Context, func(), error) {
	ctx, o, err := l.Operate(ctx)
	if err != nil {
		return nil, nil, err
	}
	return ctx, o.End, nil
}

// Reading ends when the journal is closed.
func (l *Lifetime) Reading() context.Context { return l.reading }

// Writing ends when no write goes on any more.
func (l *Lifetime) Writing() context.Context { return l.writing }

// Look gives a read that belongs to a write its context: it ends with ctx, or when no write goes on
// any more.
func (l *Lifetime) Look(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.writing, func() { cancel(l.err) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Write enters the sending of a write. It goes on when ctx ends, as what was sent may have been
// done, but not longer than the journal allows. Each of its requests has a time of its own, which
// does not run while it waits for a connection.
func (l *Lifetime) Write(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(l.writing, func() { end(l.err) })
	return ctx, func(cause error) {
		stop()
		end(cause)
	}
}
