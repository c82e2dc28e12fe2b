package protocol

import (
	"cmp"
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

// Append writes events as one atomic write. Its error shows what became of the write. The caller
// sets the payload of each event, and Append its number, writer, batch and time. index is the index
// of the first event in the caller's call, for a *RejectedError.
//
// The caller holds the turn. Append calls release when the write has ended, which can be after
// Append has returned. If nothing was sent because the writer's knowledge of the journal became too
// old, Append reads the journal again and starts over.
func (w *Writer) Append(ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int, release func()) error {
	for {
		if err := w.appendOnce(ctx, m, events, index, release); !errors.Is(err, errReread) {
			return err
		}
	}
}

// errReread reports that nothing of a write was sent, because the writer must read the journal
// first. The turn is still held.
var errReread = errors.New("the journal must be read again first")

func (w *Writer) appendOnce(
	ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int, release func(),
) error {
	a, err := w.prepare(ctx, m, events, index)
	if err != nil {
		release()
		return err
	}
	if err := a.markFirst(ctx); err != nil {
		if !errors.Is(err, errReread) {
			release()
		}
		return err
	}
	a.start(ctx)
	// If ctx ends before anything was sent, the write is withdrawn. After that, the write goes on
	// in the background.
	if !a.waitWhile(ctx) {
		if a.sending.TakeBack() {
			a.withdraw()
			release()
			return fmt.Errorf("write to %q: nothing was sent: %w", w.pid, context.Cause(ctx))
		}
		err = a.unknown(context.Cause(ctx))
		w.End(err)
		go func() {
			a.wait()
			release()
		}()
		return err
	}
	if err := a.finish(ctx); err != nil {
		if !errors.Is(err, errReread) {
			release()
		}
		return err
	}
	defer release()
	// The writer is idle since the write began. The time of the response would also do: both this
	// write and the next are acknowledged within half the fence window of what was known before, so
	// no tombstone that was put in between has expired.
	w.next, w.last, w.visible, w.active, w.alone = a.last()+1, w.uuid, a.last(), a.began, a.began
	w.time, w.timed = events[len(events)-1].Metadata.Time, true
	return nil
}

// prepare builds the items, and checks everything that can be checked before anything is sent. A
// write that is rejected here uses no sequence number, so it leaves no hole.
func (w *Writer) prepare(
	ctx context.Context, m *dynamo.Meter, events []*layout.Event, index int,
) (*atomicWrite, error) {
	j := w.journal
	if len(events) > j.MaxBatchEvents {
		return nil, &RejectedError{w.pid, -1, len(events), j.MaxBatchEvents, errTooManyEvents}
	}
	if err := w.refresh(ctx, m); err != nil {
		return nil, err
	}
	if err := w.checkHandoverBefore(ctx, m); err != nil {
		return nil, fmt.Errorf("check whether a JVM has taken over %q: %w", w.pid, InTable(j.Store.Table, err))
	}
	if int64(len(events)) > w.remaining() {
		return nil, fmt.Errorf("append %d events to %q after sequence number %d: %w",
			len(events), w.pid, w.next-1, ErrSequenceExhausted)
	}
	a := &atomicWrite{
		writer: w, meter: m, events: events, items: make([]layout.Attributes, len(events)),
		sizes: make([]int, len(events)),
		known: w.active, alone: w.alone,
	}
	var batch layout.Batch
	if len(events) > 1 {
		batch = layout.Batch{Start: w.next, Last: w.next + int64(len(events)) - 1, WriterUUID: w.uuid}
	}
	time, err := w.eventTime(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("append to %q: %w", w.pid, InTable(j.Store.Table, err))
	}
	total, before := 0, w.time
	for i, e := range events {
		e.PersistenceID, e.SequenceNr, e.WriterUUID = w.pid, w.next+int64(i), w.uuid
		e.Batch, e.Enveloped = batch, j.Enveloped
		if j.Metadata { // a host of entities has set the time at which it decided the command
			before = max(cmp.Or(e.Metadata.Time, time), before) | 1
			e.Metadata.Time = before
		}
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

// encodeEvent returns the item of an event. In a native journal the first event lists its
// persistence id.
func (s *Store) encodeEvent(e *layout.Event) layout.Attributes {
	item := s.Keys.EncodeEvent(e)
	if safeguard.FirstListed && e.SequenceNr == 1 {
		maps.Copy(item, s.ids(e.PersistenceID))
	}
	return item
}

// atomicWrite is an atomic write in progress.
type atomicWrite struct {
	writer *Writer
	events []*layout.Event
	items  []layout.Attributes
	// sizes are the sizes of the items in bytes.
	sizes   []int
	meter   *dynamo.Meter
	sending lifetime.Sending
	// known is when the knowledge was read that the write relies on, alone when it was last known
	// that no JVM has taken over, began when the write began.
	known, alone, began clock.Moment

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

func (a *atomicWrite) first() int64 { return a.events[0].SequenceNr }
func (a *atomicWrite) last() int64  { return a.events[len(a.events)-1].SequenceNr }

// needsMark reports whether the events need a high mark.
func (a *atomicWrite) needsMark() bool { return layout.CrossesBlock(a.first(), a.last()) }

// marksFirst reports whether the high mark is put before the events, which is so in a shared
// journal. A JVM that takes over after a writer crashed must not find an event without its high
// mark: it would overwrite what readers have seen. If it finds a high mark without its event, it
// skips the number.
func (a *atomicWrite) marksFirst() bool {
	return a.writer.journal.Store.Shared() && safeguard.MarkFirst
}

// markFirst puts the high mark that the events need, if it is put before them.
func (a *atomicWrite) markFirst(ctx context.Context) error {
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
// is stored at its key. The write is committed when its last member is stored. It is acknowledged
// when the high mark, if it needs one, is stored as well: a reader that trusts the mark must not
// miss acknowledged events.
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

// before is called before every attempt. It fails if the writer's knowledge is too old, or if the
// write was withdrawn.
func (a *atomicWrite) before() error {
	j := a.writer.journal
	if err := j.checkAge(a.known); err != nil && safeguard.FreshAttempts {
		return err
	}
	if len(a.items) == 1 && j.handoverPossible(a.alone) && safeguard.HandoverCheckedBefore {
		// Some members of a larger write may be stored already: checkHandoverAfter handles them.
		return ErrTooLate
	}
	return a.sending.Send()
}

// waitWhile waits until all responses have arrived. It reports false if ctx ends before.
func (a *atomicWrite) waitWhile(ctx context.Context) bool {
	if !waitDone(ctx, a.members.Done()) {
		return false
	}
	return a.mark == nil || waitDone(ctx, a.mark.done)
}

// waitDone waits for done, and reports false if ctx ends before. If both are ready, it reports
// true: a known outcome must not be reported as unknown.
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
func (a *atomicWrite) wait() {
	<-a.members.Done()
	if a.mark != nil {
		<-a.mark.done
	}
}

// withdraw cancels a write of which nothing was sent.
func (a *atomicWrite) withdraw() {
	a.members.Withdraw()
	if a.mark != nil {
		a.mark.cancel(nil)
		<-a.mark.done
	}
}
