package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Append writes events as one atomic write, or returns an error that says what became of it. The
// payload of each event is given: Append sets its number, its writer and its batch. index is the
// place of the first event in the caller's call, for a *RejectedError.
//
// The caller has the turn, which release gives back: after the write itself, which may be after
// Append has returned. A write of which nothing was sent because the writer's knowledge had become
// too old begins anew, with a look at the journal.
func (w *Writer) Append(ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int, release func()) error {
	for {
		if err := w.appendOnce(ctx, m, events, index, release); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// errAgain says that nothing of a write was sent, as the writer has to look at the journal first.
// The turn is still held.
var errAgain = errors.New("look at the journal first")

func (w *Writer) appendOnce(ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int, release func()) error {
	a, err := w.prepare(ctx, m, events, index)
	if err != nil {
		release()
		return err
	}
	if err := a.markFirst(ctx); err != nil {
		if !errors.Is(err, errAgain) {
			release()
		}
		return err
	}
	a.start(ctx)
	// A caller that goes before anything was sent takes the write back; one that goes later leaves
	// it to the journal.
	if !a.sentWhile(ctx) {
		if a.sending.TakeBack() {
			a.forget()
			release()
			return fmt.Errorf("write to %q: nothing was sent: %w", w.pid, context.Cause(ctx))
		}
		err = a.unknown(context.Cause(ctx))
		w.End(err)
		go func() {
			a.answered()
			release()
		}()
		return err
	}
	if err := a.settle(ctx); err != nil {
		if !errors.Is(err, errAgain) {
			release()
		}
		return err
	}
	defer release()
	// The writer is idle since the write began. From its answer on would do as well, as both this
	// write and the next are acknowledged within half the fence window of what was known before: no
	// tombstone that was put meanwhile expires earlier.
	w.next, w.last, w.active, w.alone = a.last()+1, w.uuid, a.began, a.began
	return nil
}

// prepare makes the items, and checks all that can be checked before anything is sent. What is
// refused here uses up no sequence number, so it leaves no hole.
func (w *Writer) prepare(ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int) (*atomicWrite, error) {
	j := w.journal
	if len(events) > j.MaxBatchEvents {
		return nil, &RejectedError{w.pid, -1, len(events), j.MaxBatchEvents, errTooManyEvents}
	}
	if err := w.refresh(ctx, m); err != nil {
		return nil, err
	}
	if err := w.lookForHandover(ctx, m); err != nil {
		return nil, fmt.Errorf("look whether a JVM has taken over %q: %w", w.pid, InTable(j.Store.Table, err))
	}
	if int64(len(events)) > w.remaining() {
		return nil, fmt.Errorf("append %d events to %q after sequence number %d: %w", len(events), w.pid, w.next-1, ErrSequenceExhausted)
	}
	a := &atomicWrite{
		writer: w, meter: m, events: events, items: make([]layout.Attributes, len(events)), sizes: make([]int, len(events)),
		known: w.active, alone: w.alone,
	}
	var batch layout.Batch
	if len(events) > 1 {
		batch = layout.Batch{Start: w.next, Last: w.next + int64(len(events)) - 1, WriterUUID: w.uuid}
	}
	total := 0
	for i, e := range events {
		e.PersistenceID, e.SequenceNr, e.WriterUUID = w.pid, w.next+int64(i), w.uuid
		e.Batch, e.Enveloped = batch, j.Enveloped
		a.items[i] = j.Store.encodeEvent(e)
		size := layout.Size(a.items[i])
		if size > j.MaxItemSize {
			return nil, &RejectedError{w.pid, index + i, size, j.MaxItemSize, errItemTooLarge}
		}
		a.sizes[i] = size
		total += size
	}
	if len(events) > 1 && total > j.MaxBatchBytes {
		return nil, &RejectedError{w.pid, -1, total, j.MaxBatchBytes, errBatchTooLarge}
	}
	return a, nil
}

// encodeEvent makes an event's item. In a native journal the first event lists its persistence id.
func (s *Store) encodeEvent(e *layout.Event) layout.Attributes {
	item := s.Keys.EncodeEvent(e)
	if safeguard.FirstListed && e.SequenceNr == 1 {
		maps.Copy(item, s.ids(e.PersistenceID))
	}
	return item
}

// atomicWrite is one atomic write on its way.
type atomicWrite struct {
	writer *Writer
	events []*layout.Event
	items  []layout.Attributes
	// sizes are those of the items in bytes.
	sizes   []int
	meter   *dynamo.Meter
	sending lifetime.Sending
	// known is how old the knowledge is that the write relies on, alone that no JVM has taken over,
	// began when the write did.
	known, alone, began clock.Moment

	members *dynamo.Insertion
	// mark is the high mark that is put at the same time as the events, nil if there is none.
	mark *markPut
}

// markPut is the put of a high mark.
type markPut struct {
	done   chan struct{}
	err    error
	cancel context.CancelCauseFunc
}

func (a *atomicWrite) first() int64 { return a.events[0].SequenceNr }
func (a *atomicWrite) last() int64  { return a.events[len(a.events)-1].SequenceNr }

// needsMark reports whether the events need a high mark.
func (a *atomicWrite) needsMark() bool { return layout.CrossesBlock(a.first(), a.last()) }

// marksFirst reports whether a high mark is put before the events: in a shared journal. A JVM that
// takes over where a writer has died must not find an event without its mark: it would write over
// what readers have been shown. Where it finds a mark without its event, it leaves out the number.
func (a *atomicWrite) marksFirst() bool {
	return a.writer.journal.Store.Shared() && safeguard.MarkFirst
}

// markFirst puts the high mark that the events need, where that is put before them.
func (a *atomicWrite) markFirst(ctx context.Context) error {
	if !a.needsMark() || !a.marksFirst() {
		return nil
	}
	w := a.writer
	err := w.raiseHighMark(ctx, a.meter, a.last())
	if errors.Is(err, ErrTooLate) {
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("append to %q at sequence number %d: put the high mark: %w", w.pid, a.first(), err)
	}
	return nil
}

// start puts all members and the high mark at the same time, each event under the condition that
// nothing is stored at its key. The write is committed when its last missing member is stored, and
// acknowledged when the high mark, if it needs one, is stored as well: a reader that trusts the
// mark must not miss what was acknowledged.
func (a *atomicWrite) start(ctx context.Context) {
	w := a.writer
	a.began = w.journal.Clock.Now()
	if a.needsMark() && !a.marksFirst() {
		a.mark = &markPut{done: make(chan struct{})}
		var writing context.Context
		writing, a.mark.cancel = w.journal.Life.Write(ctx)
		go func() {
			defer close(a.mark.done)
			defer a.mark.cancel(nil)
			if err := w.journal.Store.RaiseHighMark(writing, a.meter, w.pid, a.last(), a.before); safeguard.HighMark {
				a.mark.err = err
			}
		}()
	}
	in := dynamo.Insert{ID: w.pid, Items: a.items, Sizes: a.sizes, Before: a.before}
	if safeguard.Conditional && (safeguard.ConditionalMembers || len(a.items) == 1) {
		in.Condition = NotExists
	}
	a.members = w.journal.Group.Insert(ctx, a.meter, in)
}

// before is the check of every attempt: nothing is sent by knowledge that is too old, nor what was
// taken back.
func (a *atomicWrite) before() error {
	j := a.writer.journal
	if err := j.checkAge(a.known); err != nil && safeguard.FreshAttempts {
		return err
	}
	if len(a.items) == 1 && j.handoverPossible(a.alone) && safeguard.HandoverLookedBefore {
		return ErrTooLate // members of a larger write may be stored already: handedOver looks for them
	}
	return a.sending.Send()
}

// sentWhile waits until everything is sent and answered. It reports false if ctx ends before.
func (a *atomicWrite) sentWhile(ctx context.Context) bool {
	if !endsWhile(ctx, a.members.Done()) {
		return false
	}
	return a.mark == nil || endsWhile(ctx, a.mark.done)
}

// endsWhile waits until done. It reports false if ctx ends before. Of both at once done counts: an
// outcome that is known is not called unknown.
func endsWhile(ctx context.Context, done <-chan struct{}) bool {
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

// answered waits until everything is sent and answered.
func (a *atomicWrite) answered() {
	<-a.members.Done()
	if a.mark != nil {
		<-a.mark.done
	}
}

// forget ends what was taken back.
func (a *atomicWrite) forget() {
	a.members.Withdraw()
	if a.mark != nil {
		a.mark.cancel(nil)
		<-a.mark.done
	}
}
