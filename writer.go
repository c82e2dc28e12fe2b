package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/safeguard"
	"github.com/dynajournal/dynajournal/serialization"
)

// AppendResult says what an append has written.
type AppendResult struct {
	// First and Last are the sequence numbers of the events.
	First, Last int64
	// Cost is what it cost, retries included.
	Cost Cost
}

// Append writes events as one atomic write: all of them or none is there for every reader, however many they are (bounded
// by Config.MaxBatchEvents and MaxBatchBytes). It returns when they are durable. Values are serialized by
// Config.Serialization; a serialization.Payload is written as it is.
//
// A context that ends before anything is sent changes nothing. One that ends later makes Append return ErrOutcomeUnknown at
// once, while the journal goes on writing; the writer has ended then.
//
// Errors: ErrRejected, ErrSequenceExhausted and ErrInvalidArgument (no events) leave the writer alive, nothing is written;
// so do errors of requests, if no part of the write was done. ErrWriterConflict and ErrOutcomeUnknown end it.
func (w *Writer) Append(ctx context.Context, events ...any) (AppendResult, error) {
	if len(events) == 0 {
		return AppendResult{}, &ArgumentError{"events", 0, "there must be at least one"}
	}
	payloads := make([]payload, len(events))
	for i, e := range events {
		var err error
		if payloads[i], err = w.encode(e, i); err != nil {
			return AppendResult{}, err
		}
	}
	done, err := w.journal.life.Begin()
	if err != nil {
		return AppendResult{}, err
	}
	if err := w.enter(ctx); err != nil {
		done()
		return AppendResult{}, err
	}
	return w.append(ctx, payloads, 0, func() {
		w.leave()
		done()
	})
}

// Outcome is what became of one event of AppendEach.
type Outcome struct {
	// SequenceNumber is the event's, 0 if it was not written.
	SequenceNumber int64
	// Err is why it was not written, or not acknowledged. ErrSkipped is an event that was not tried, because one before it
	// failed.
	Err error
}

// ErrSkipped is the outcome of an event that was not tried.
var ErrSkipped = errors.New("not written, because an event before it failed")

// AppendEach writes events one after the other, each on its own: the next only when the one before is durable. It returns an
// outcome for each event, in order, and the first error. A rejected event is left out and uses up no sequence number, those
// after it are written all the same; after any other error the rest is skipped. Errors are those of Append.
//
// Each outcome says what was true when the journal went on to the next event. While the call goes
// on, another writer can delete or purge events that it has written.
func (w *Writer) AppendEach(ctx context.Context, events ...any) ([]Outcome, error) {
	outcomes := make([]Outcome, len(events))
	var first error
	for i, e := range events {
		if first != nil && !errors.Is(first, ErrRejected) {
			outcomes[i].Err = ErrSkipped
			continue
		}
		var result AppendResult
		result, outcomes[i].Err = w.appendOne(ctx, e, i)
		outcomes[i].SequenceNumber = result.First
		if err := outcomes[i].Err; err != nil && (first == nil || !errors.Is(err, ErrRejected)) {
			first = err
		}
	}
	return outcomes, first
}

func (w *Writer) appendOne(ctx context.Context, event any, index int) (AppendResult, error) {
	p, err := w.encode(event, index)
	if err != nil {
		return AppendResult{}, err
	}
	done, err := w.journal.life.Begin()
	if err != nil {
		return AppendResult{}, err
	}
	if err := w.enter(ctx); err != nil {
		done()
		return AppendResult{}, err
	}
	return w.append(ctx, []payload{p}, index, func() {
		w.leave()
		done()
	})
}

// payload is an event as it is going to be stored, with the event adapter's manifest.
type payload struct {
	serialization.Payload
	adapterManifest string
}

func (w *Writer) encode(event any, index int) (payload, error) {
	stored, manifest, err := w.journal.adapt(event)
	var p serialization.Payload
	if err == nil {
		p, err = w.journal.config.Serialization.Encode(stored)
	}
	if err == nil && !isText(p.Manifest, manifest) {
		err = errManifestNotText
	}
	if err != nil {
		return payload{}, &RejectedError{PersistenceID: w.pid, Index: index, Err: err}
	}
	return payload{p, manifest}, nil
}

// append writes one atomic write; index is the place of its first event in the call. It holds the
// writer's turn, which release gives back: after the write itself, which may be after append has
// returned. A write of which nothing was sent because the writer's knowledge had become too old
// begins anew, with a look at the journal.
func (w *Writer) append(ctx context.Context, payloads []payload, index int, release func()) (AppendResult, error) {
	meter := &dynamo.Meter{}
	for {
		result, err := w.appendOnce(ctx, meter, payloads, index, release)
		if !errors.Is(err, errAgain) {
			return result, err
		}
	}
}

// errAgain says that nothing of a write was sent, as the writer has to look at the journal first.
// The turn is still held.
var errAgain = errors.New("look at the journal first")

func (w *Writer) appendOnce(ctx context.Context, meter *dynamo.Meter, payloads []payload, index int, release func()) (AppendResult, error) {
	a, err := w.prepare(ctx, meter, payloads, index)
	if err != nil {
		release()
		return AppendResult{}, err
	}
	if err := a.markFirst(ctx); err != nil {
		if !errors.Is(err, errAgain) {
			release()
		}
		return AppendResult{}, err
	}
	a.start(ctx)
	// A caller that goes before anything was sent takes the write back; one that goes later leaves it to the journal.
	if !a.sentWhile(ctx) {
		if a.sending.TakeBack() {
			a.forget()
			release()
			return AppendResult{}, fmt.Errorf("write to %q: nothing was sent: %w", w.pid, context.Cause(ctx))
		}
		err = a.unknown(context.Cause(ctx))
		w.end(err)
		go func() {
			a.answered()
			release()
		}()
		return AppendResult{}, err
	}
	if err := a.settle(ctx); err != nil {
		if !errors.Is(err, errAgain) {
			release()
		}
		return AppendResult{}, err
	}
	defer release()
	// The writer is idle since the write began. From its answer on would do as well, as both this
	// write and the next are acknowledged within half the fence window of what was known before: no
	// tombstone that was put meanwhile expires earlier.
	w.next, w.last, w.active, w.alone = a.last()+1, w.uuid, a.began, a.began
	return AppendResult{First: a.first(), Last: a.last(), Cost: a.meter.Cost()}, nil
}

// prepare makes the items, and checks all that can be checked before anything is sent: what is refused here uses up no
// sequence number, so it leaves no hole.
func (w *Writer) prepare(ctx context.Context, meter *dynamo.Meter, payloads []payload, index int) (*appending, error) {
	config := &w.journal.config
	if len(payloads) > config.MaxBatchEvents {
		return nil, &RejectedError{w.pid, -1, len(payloads), config.MaxBatchEvents, errTooManyEvents}
	}
	a := &appending{writer: w, meter: meter}
	if err := w.refresh(ctx, meter); err != nil {
		return nil, err
	}
	if err := w.lookForHandover(ctx, meter); err != nil {
		return nil, fmt.Errorf("look whether a JVM has taken over %q: %w", w.pid, itemError(config.JournalTable, err))
	}
	a.known, a.alone = w.active, w.alone
	if int64(len(payloads)) > w.remaining() {
		return nil, fmt.Errorf("append %d events to %q after sequence number %d: %w", len(payloads), w.pid, w.next-1, ErrSequenceExhausted)
	}
	a.events = make([]*layout.Event, len(payloads))
	a.items = make([]layout.Attributes, len(payloads))
	a.sizes = make([]int, len(payloads))
	var batch layout.Batch
	if len(payloads) > 1 {
		batch = layout.Batch{Start: w.next, Last: w.next + int64(len(payloads)) - 1, WriterUUID: w.uuid}
	}
	total := 0
	for i, p := range payloads {
		a.events[i] = &layout.Event{
			PersistenceID:      w.pid,
			SequenceNr:         w.next + int64(i),
			Bytes:              p.Bytes,
			SerializerID:       p.SerializerID,
			SerializerManifest: p.Manifest,
			Manifest:           p.adapterManifest,
			WriterUUID:         w.uuid,
			Batch:              batch,
			Enveloped:          config.EventEnvelope,
		}
		a.items[i] = w.journal.encodeEvent(a.events[i])
		size := layout.Size(a.items[i])
		if size > config.MaxItemSize {
			return nil, &RejectedError{w.pid, index + i, size, config.MaxItemSize, errItemTooLarge}
		}
		a.sizes[i] = size
		total += size
	}
	if len(payloads) > 1 && total > config.MaxBatchBytes {
		return nil, &RejectedError{w.pid, -1, total, config.MaxBatchBytes, errBatchTooLarge}
	}
	return a, nil
}

// Reasons of a rejection.
var (
	errItemTooLarge  = errors.New("its item has too many bytes")
	errBatchTooLarge = errors.New("it has too many bytes")
	errTooManyEvents = errors.New("it has too many events")
)

// encodeEvent makes an event's item. In a native journal the first event enters its persistence id into the ids index.
func (j *Journal) encodeEvent(e *layout.Event) layout.Attributes {
	item := j.store.Keys.EncodeEvent(e)
	if safeguard.FirstListed && e.SequenceNr == 1 {
		maps.Copy(item, j.idsAttributes(e.PersistenceID))
	}
	return item
}

// idsAttributes are the attributes that list a persistence id, nil in a shared journal.
func (j *Journal) idsAttributes(pid string) layout.Attributes {
	if !j.Native() {
		return nil
	}
	return j.store.Keys.IDsAttributes(pid, j.header.IDsShards)
}

// appending is one atomic write on its way.
type appending struct {
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
	// mark is the high mark on its way, nil if the write needs none beside its events.
	mark *markPut
}

// markPut is the put of a high mark.
type markPut struct {
	done   chan struct{}
	err    error
	cancel context.CancelCauseFunc
}

func (a *appending) first() int64 { return a.events[0].SequenceNr }
func (a *appending) last() int64  { return a.events[len(a.events)-1].SequenceNr }

// needsMark reports whether the events need a high mark.
func (a *appending) needsMark() bool { return layout.CrossesBlock(a.first(), a.last()) }

// marksFirst reports whether a high mark is put before the events, in a shared journal. A JVM that
// takes over where a writer has died must not find an event without its mark: it would write over
// what readers have been shown. Of a mark without its event it leaves out the number.
func (a *appending) marksFirst() bool { return !a.writer.journal.Native() && safeguard.MarkFirst }

// markFirst puts the high mark that the events need, where that is put before them.
func (a *appending) markFirst(ctx context.Context) error {
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

// start puts all members and the high mark at the same time, each event under the condition that nothing stands at its key.
// The write is committed when its last missing member lands, and acknowledged when the high mark, if it needs one, stands as
// well: a reader that trusts the mark must not miss what was acknowledged.
func (a *appending) start(ctx context.Context) {
	w := a.writer
	a.began = w.journal.clock.Now()
	if a.needsMark() && !a.marksFirst() {
		a.mark = &markPut{done: make(chan struct{})}
		var writing context.Context
		writing, a.mark.cancel = w.journal.life.Write(ctx)
		go func() {
			defer close(a.mark.done)
			defer a.mark.cancel(nil)
			if err := w.journal.store.RaiseHighMark(writing, a.meter, w.pid, a.last(), a.before); safeguard.HighMark {
				a.mark.err = err
			}
		}()
	}
	in := dynamo.Insert{ID: w.pid, Items: a.items, Sizes: a.sizes, Before: a.before}
	if safeguard.Conditional && (safeguard.ConditionalMembers || len(a.items) == 1) {
		in.Condition = protocol.NotExists
	}
	a.members = w.journal.group.Insert(ctx, a.meter, in)
}

// before is the check of every attempt: nothing is sent by knowledge that is too old, nor what was
// taken back.
func (a *appending) before() error {
	j := a.writer.journal
	if err := j.checkAge(a.known); err != nil && safeguard.FreshAttempts {
		return err
	}
	if len(a.items) == 1 && j.handoverPossible(a.alone) && safeguard.HandoverLookedBefore {
		return ErrTooLate // of an atomic write members may be stored already: it is looked for all of them at the end
	}
	return a.sending.Send()
}

// sentWhile waits until everything is sent and answered; false if ctx ends before.
func (a *appending) sentWhile(ctx context.Context) bool {
	if !endsWhile(ctx, a.members.Done()) {
		return false
	}
	return a.mark == nil || endsWhile(ctx, a.mark.done)
}

// endsWhile waits until done; false if ctx ends before. Of both at once, done counts: what is known is not to be called unknown.
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
func (a *appending) answered() {
	<-a.members.Done()
	if a.mark != nil {
		<-a.mark.done
	}
}

// forget ends what was taken back.
func (a *appending) forget() {
	a.members.Withdraw()
	if a.mark != nil {
		a.mark.cancel(nil)
		<-a.mark.done
	}
}

// meet looks at what stands where a member was not inserted because something does: the member itself, put by an earlier try
// whose answer was lost, which is a success; or what makes it a *ConflictError.
func (a *appending) meet(ctx context.Context, results []error) {
	w := a.writer
	var old map[int64]layout.Attributes
	for i, err := range results {
		if errors.Is(err, dynamo.ErrConditionFailed) {
			if old == nil {
				old = map[int64]layout.Attributes{}
			}
			old[a.events[i].SequenceNr] = dynamo.OldItem(err)
		}
	}
	if old == nil {
		return
	}
	ctx, end := w.journal.life.Look(ctx)
	defer end()
	standing, err := w.journal.store.MetSlots(ctx, a.meter, w.pid, old)
	for i, e := range a.events {
		if _, met := old[e.SequenceNr]; !met {
			continue
		}
		switch slot := standing[e.SequenceNr]; {
		case err != nil:
			results[i] = a.unknown(err)
		case safeguard.OwnItem && layout.SameEvent(slot, e):
			results[i] = nil
		case safeguard.DeletedSince && slot.Event == nil && dynamo.MaybeApplied(results[i]):
			// An earlier try may have written it, another seen it and deleted it since.
			results[i] = a.unknown(results[i])
		default:
			results[i] = w.conflict(slot)
		}
	}
}

// settle decides from the results of all puts what became of the write, and whether the writer lives on.
func (a *appending) settle(ctx context.Context) error {
	w := a.writer
	results := a.members.Outcomes()
	a.meet(ctx, results)
	if err := a.handedOver(ctx); err != nil {
		w.end(err)
		return err
	}
	written := 0
	var failed, unknown error
	for _, err := range results {
		if conflict, ok := errors.AsType[*ConflictError](err); ok {
			a.sealParts(ctx, results)
			w.end(conflict)
			return conflict
		}
		switch {
		case err == nil:
			written++
		case leftUnknown(err):
			unknown = err
		default:
			failed = err
		}
	}
	if a.mark != nil && a.mark.err != nil {
		if leftUnknown(a.mark.err) {
			unknown = a.mark.err
		} else {
			failed = a.mark.err
		}
	}
	if safeguard.LateAnswer && unknown == nil && failed == nil {
		// The answer brings the service's time: a wall clock that was set back hides a sleep from
		// the check before the attempt.
		unknown = w.journal.checkAge(a.known)
	}
	switch {
	case unknown == nil && failed == nil:
		return nil
	case unknown != nil:
		if _, ok := errors.AsType[*OutcomeUnknownError](unknown); !ok {
			unknown = a.unknown(unknown)
		}
		if safeguard.UnknownEnds {
			w.end(unknown)
		}
		return unknown
	case safeguard.WrittenUnknown && written == len(a.items): // all but the high mark: it is there, but not acknowledged
		failed = a.unknown(failed)
		w.end(failed)
		return failed
	}
	if written == 0 && errors.Is(failed, ErrTooLate) {
		return errAgain
	}
	failed = fmt.Errorf("append to %q at sequence number %d: %w", w.pid, a.first(), failed)
	if safeguard.PartEnds && written > 0 { // nobody will ever see these members, but their numbers are taken
		w.end(failed)
	}
	return failed
}

// sealParts turns the members that are stored of an atomic write which was refused into seals, in a
// shared journal. Where a JVM deletes a part of an atomic write, the rest counts if its last member
// is there, as the JVM's low mark says nothing of what it cuts: that must not show these. What
// fails leaves them as they are.
func (a *appending) sealParts(ctx context.Context, results []error) {
	w := a.writer
	if w.journal.Native() || len(a.items) == 1 || !safeguard.PartsSealed {
		return
	}
	ctx, end := w.journal.life.Look(ctx)
	defer end()
	store := w.journal.store.While(w.journal.freshFromNow())
	for i, err := range results {
		if err != nil {
			continue
		}
		if _, err := store.SealUnchanged(ctx, a.meter, w.pid, a.events[i].SequenceNr, a.items[i]); err != nil {
			w.journal.config.Logger.WarnContext(ctx, "a part of an atomic write that was refused is left",
				"persistence_id", w.pid, "sequence_number", a.events[i].SequenceNr, "error", err)
			return
		}
	}
}

func leftUnknown(err error) bool {
	return dynamo.MaybeApplied(err) || errors.Is(err, ErrOutcomeUnknown)
}

func (a *appending) unknown(cause error) error {
	return &OutcomeUnknownError{a.writer.pid, a.first(), a.last(), cause}
}

// conflict is the error of a write that met something at its key.
func (w *Writer) conflict(slot layout.Slot) *ConflictError {
	err := &ConflictError{PersistenceID: w.pid, SequenceNumber: slot.SequenceNr}
	if slot.Event != nil {
		err.WriterUUID = slot.Event.WriterUUID
	}
	return err
}

// overtaken ends the writer with the conflict of one that others have overtaken.
func (w *Writer) overtaken() error {
	conflict := &ConflictError{PersistenceID: w.pid, SequenceNumber: w.next}
	w.end(conflict)
	return conflict
}

// lookAgain looks whether the writer is still the last, and returns the marks. If not, it ends with
// a *ConflictError.
func (w *Writer) lookAgain(ctx context.Context, m *dynamo.Meter) (layout.Marks, error) {
	j, began := w.journal, w.journal.clock.Now()
	marks, err := j.store.Marks(ctx, m, w.pid)
	if err != nil {
		return marks, err
	}
	end, err := j.store.End(ctx, m, w.pid, marks, w.farMark)
	if err != nil {
		return marks, err
	}
	same := end.Highest == w.next-1 && (marks.Low.Seq == w.low.Seq || !safeguard.LowMoved)
	if safeguard.StillLast && same && j.clock.Since(w.active) > j.config.FenceWindow {
		if same, err = w.stillLast(ctx, m); err != nil {
			return marks, err
		}
	}
	if !same {
		return marks, w.overtaken()
	}
	w.low, w.expiring, w.active, w.alone = marks.Low, marks.Expiring, began, began
	return marks, nil
}

// stillLast says whether the event before the next is the one that the writer knows. After the whole fence window the same
// numbers can be those of another life: the id was purged, all trace of that has vanished, and it has grown anew.
func (w *Writer) stillLast(ctx context.Context, m *dynamo.Meter) (bool, error) {
	if w.next == 1 {
		return true, nil
	}
	slot, err := w.journal.store.MetSlot(ctx, m, w.pid, w.next-1, nil)
	return err == nil && w.last != "" && slot.Event != nil && slot.Event.WriterUUID == w.last, err
}

// refresh does what has to be done before a write. A writer that was idle for more than half the fence window looks whether
// it is still the last: after the whole window the tombstones that would stop it may be gone. The marks of a purged id are
// put anew, or they would vanish under a live entity.
func (w *Writer) refresh(ctx context.Context, m *dynamo.Meter) error {
	if err := w.lookAfterPause(ctx, m); err != nil {
		return err
	}
	if !w.expiring {
		return nil
	}
	if err := w.renewMarks(ctx, m); err != nil {
		return fmt.Errorf("renew the marks of %q: %w", w.pid, err)
	}
	w.expiring = false
	return nil
}

// lookAfterPause looks at the journal again if what the writer knows of it is too old to write by.
func (w *Writer) lookAfterPause(ctx context.Context, m *dynamo.Meter) error {
	// The first look after a sleep begins by a service time from before it, so it can be too old at
	// once: its answers tell.
	for w.journal.checkAge(w.active) != nil {
		if _, err := w.lookAgain(ctx, m); err != nil {
			return fmt.Errorf("look at %q again after a pause: %w", w.pid, itemError(w.journal.config.JournalTable, err))
		}
	}
	return nil
}
