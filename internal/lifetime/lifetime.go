// Package lifetime lets a journal end: nothing new begins, reading stops at once, and what was sent is waited for.
package lifetime

import (
	"context"
	"sync"
	"time"
)

// Lifetime counts what is under way in a journal, and ends it. Open makes it ready for use.
type Lifetime struct {
	mu     sync.Mutex
	closed bool
	err    error
	work   sync.WaitGroup

	// reading ends at once when the journal is closed, writing when its time is up.
	reading, writing         context.Context //nolint:containedctx // the journal's own, not a call's
	stopReading, stopWriting context.CancelCauseFunc
}

// Open makes it ready. closed is what everything that comes after Close fails with.
func (l *Lifetime) Open(closed error) {
	l.err = closed
	l.reading, l.stopReading = context.WithCancelCause(context.Background())
	l.writing, l.stopWriting = context.WithCancelCause(context.Background())
}

// Close refuses what is new, ends reading, waits for writing, and ends that too when it takes longer than patience.
func (l *Lifetime) Close(patience time.Duration) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stopReading(l.err)
	timer := time.AfterFunc(patience, func() { l.stopWriting(l.err) })
	l.work.Wait()
	timer.Stop()
	l.stopWriting(l.err)
}

// Begin enters an operation; done must be called at its end.
func (l *Lifetime) Begin() (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, l.err
	}
	l.work.Add(1)
	return l.work.Done, nil
}

// Read enters an operation that ends with ctx, or when the journal is closed.
func (l *Lifetime) Read(ctx context.Context) (context.Context, func(), error) {
	done, err := l.Begin()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.reading, func() { cancel(l.err) })
	return ctx, func() {
		stop()
		cancel(nil)
		done()
	}, nil
}

// Reading ends when the journal is closed.
func (l *Lifetime) Reading() context.Context { return l.reading }

// Writing ends when no write goes on any more.
func (l *Lifetime) Writing() context.Context { return l.writing }

// Look gives a read that belongs to a write its context: it ends with ctx, or when no write goes on any more.
func (l *Lifetime) Look(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.writing, func() { cancel(l.err) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Write enters the sending of a write. It goes on when ctx ends, as what was sent may have been done, but not longer than the
// journal allows. Each of its requests has a time of its own, which does not run while it waits for a connection.
func (l *Lifetime) Write(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(l.writing, func() { end(l.err) })
	return ctx, func(cause error) {
		stop()
		end(cause)
	}
}
