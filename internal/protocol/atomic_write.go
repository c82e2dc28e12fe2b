package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/outside"
)

// AtomicWrite is an atomic write in progress. Its methods must not be used concurrently.
type AtomicWrite struct {
	writer *Writer
	events []*layout.Event
	// index is the index of the first event in the caller's call.
	index int
	items []layout.Attributes
	// sizes are the sizes of the items in bytes.
	sizes   []int
	meter   *dynamo.Meter
	sending lifetime.Sending
	// known is the time of the read that the write relies on. alone is the time of the last check
	// that no JVM has taken over. startedAt is the start of the write.
	known, alone, startedAt clock.Moment
	// outside is the time at which the oldest payload outside of the journal was put, or nil.
	outside *clock.Moment

	// item and size save allocations: they are for the items of a single event.
	item [1]layout.Attributes
	size [1]int

	members *dynamo.Insertion
	// mark is the high mark that is put in parallel with the events, or nil.
	mark *markPut
}

// markPut is a high mark being put.
type markPut struct {
	done   chan struct{}
	err    error
	cancel context.CancelCauseFunc
}

func (a *AtomicWrite) first() int64 { return a.events[0].SequenceNr }
func (a *AtomicWrite) last() int64  { return a.events[len(a.events)-1].SequenceNr }

// needsMark reports whether the events need a high mark.
func (a *AtomicWrite) needsMark() bool { return layout.CrossesBlock(a.first(), a.last()) }

// marksFirst reports whether the high mark is put before the events. In a shared journal it is: a
// JVM that takes over after a writer crashed must not find an event without its high mark, because
// it would overwrite an event that readers have seen. If it finds a high mark without its event, it
// skips the number.
//
// The mark of an atomic write over more than two partitions is also put first. Without a mark, a
// purge finds what a crash has left in the next partition (tornAfter), but nothing after an empty
// partition.
func (a *AtomicWrite) marksFirst() bool {
	return a.writer.journal.Store.Shared() ||
		a.last()/layout.PartitionSize > a.first()/layout.PartitionSize+1
}

// markFirst puts the high mark that the events need, if it is put before them.
func (a *AtomicWrite) markFirst(ctx context.Context) error {
	if !a.needsMark() || !a.marksFirst() {
		return nil
	}
	w := a.writer
	err := w.raiseHighMark(ctx, a.meter, a.last())
	if errors.Is(err, ErrTooLate) {
		return errReread
	}
	if err != nil {
		return fmt.Errorf("append to %q at sequence number %d: put the high mark: %w", w.pid, a.first(), err)
	}
	return nil
}

// start puts all members and the high mark in parallel, each event under the condition that nothing
// is stored at its key. The write is committed when all members are stored. If it needs a high
// mark, it is acknowledged only after that is stored as well: a reader that trusts the mark must
// not miss acknowledged events.
func (a *AtomicWrite) start(ctx context.Context) {
	w := a.writer
	if a.needsMark() && !a.marksFirst() {
		a.mark = &markPut{done: make(chan struct{})}
		var writing context.Context
		writing, a.mark.cancel = w.journal.Life.Write(ctx)
		go func() {
			defer close(a.mark.done)
			defer a.mark.cancel(nil)
			a.mark.err = w.journal.Store.RaiseHighMark(writing, a.meter, w.pid, a.last(), a.beforeMark)
		}()
	}
	in := dynamo.Insert{ID: w.pid, Items: a.items, Sizes: a.sizes, Before: a.before}
	in.Condition = NotExists
	a.members = w.journal.Group.Insert(ctx, a.meter, in)
}

// beforeMark is called before every attempt to put the high mark. See before.
func (a *AtomicWrite) beforeMark() error { return a.before(a.writer.journal.Clock.Now()) }

// before is called before every attempt, with the current time. It fails if the writer's knowledge
// is too old, if a JVM may have taken over, or if the write was withdrawn.
func (a *AtomicWrite) before(now clock.Moment) error {
	j := a.writer.journal
	if err := a.checkAge(now); err != nil {
		return err
	}
	if len(a.items) == 1 && j.handoverPossible(a.alone) {
		// Some members of a larger write may be stored already: checkHandoverAfter handles them.
		return ErrTooLate
	}
	return a.sending.Send()
}

// checkAge fails if the knowledge that the write relies on, or a payload outside of the journal, is
// too old.
func (a *AtomicWrite) checkAge(now clock.Moment) error {
	if outside.Check(a.outside, now) != nil {
		return ErrTooLate
	}
	return a.writer.journal.checkAgeAt(a.known, now)
}

// waitWhile waits until all responses have arrived. It reports false if ctx ends first.
func (a *AtomicWrite) waitWhile(ctx context.Context) bool {
	if !waitDone(ctx, a.members.Done()) {
		return false
	}
	return a.mark == nil || waitDone(ctx, a.mark.done)
}

// waitDone waits for done, and reports false if ctx ends first. If both are ready, it reports true:
// a known outcome must not be reported as unknown.
func waitDone(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// wait waits until all responses have arrived.
func (a *AtomicWrite) wait() {
	<-a.members.Done()
	if a.mark != nil {
		<-a.mark.done
	}
}

// withdraw cancels a write that has sent nothing.
func (a *AtomicWrite) withdraw() {
	a.members.Withdraw()
	if a.mark != nil {
		a.mark.cancel(nil)
		<-a.mark.done
	}
}
