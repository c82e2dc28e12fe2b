package protocol

import (
	"context"
	"errors"
	"runtime"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// errStale reports that earlier reads do not count: the low mark has moved, or a batch that was
// left out has become whole. The pages must be read again.
var errStale = errors.New("the pages must be read again")

// Replay reads the journal of one persistence id, and calls emit with the events of the window, in
// order, each once. It ends with the first error of emit, and returns it. With Recover, everything
// up to Result.Highest is closed when Replay returns: no event of the window can appear there later
// that was not handed out.
//
// After a snapshot that is ahead of the journal it fails with a *SnapshotAheadError, unless
// Request.JournalLost is set, or the journal is shared and has no event.
func (s *Store) Replay(
	ctx context.Context, m *dynamo.Meter, req Request, emit func(*layout.Event) error,
) (Result, error) {
	if req.Snapshot && !req.JournalLost {
		return s.replayAfterSnapshot(ctx, m, &req, emit)
	}
	return s.replay(ctx, m, &req, emit)
}

// replay replays without a check of the number of the snapshot.
func (s *Store) replay(
	ctx context.Context, m *dynamo.Meter, req *Request, emit func(*layout.Event) error,
) (Result, error) {
	r := &replay{store: s.While(s.fresh()), meter: m, req: *req, emit: emit, handing: true}
	defer func() { r.pages.close() }() // even if emit panics
	if err := r.seekStart(ctx); err != nil {
		return Result{}, err
	}
	defer r.unneeded.wait()
	for {
		end, err := r.pass(ctx)
		r.pages.close()
		switch {
		case err != nil:
		case end == passSatisfied:
			return r.result(), nil
		case end == passStale:
			err = r.restart(ctx)
		case !req.Recover:
			result := r.result()
			result.over = true
			return result, nil
		default:
			var done bool
			if done, err = r.findHighest(ctx); done && err == nil {
				return r.recovered(ctx)
			}
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// recovered returns the result of a recovery.
func (r *replay) recovered(ctx context.Context) (Result, error) {
	visible, err := r.lastVisible(ctx)
	return Result{
		Highest: r.top.highest, Last: r.top.last(), FarMark: r.farMark, Time: r.top.time, Timed: r.top.written > 0,
		Visible: visible, Marks: r.marks,
	}, err
}

// result returns the result of a replay that does not recover.
func (r *replay) result() Result {
	return Result{
		Highest: r.top.highest, Marks: r.marks, Decided: r.progress.decided, FarMark: r.farMark, Behind: r.want, Missing: r.progress.missing,
		Awaited: r.progress.awaited, top: r.pages.top, part: r.progress.part,
	}
}

// replay is the state of one call of [Store.Replay].
type replay struct {
	store  *Store
	meter  *dynamo.Meter
	req    Request
	emit   func(*layout.Event) error
	stamps logicalClock

	marks   layout.Marks
	lowRead int64        // the stamp of the start of the read of the low mark
	seen    *lowMarkRead // the low mark read after the first page, if that was empty

	// high is the number up to which all partitions are read: the high mark, or the end of the
	// journal.
	high    int64
	farMark int64 // a high mark that is damaged
	ended   bool  // the end of the journal was searched
	search  *partitionSearch

	pages *partitions
	// unneeded reads the first partition of an entity whose low mark turned out to be after it. It
	// is waited for, not cancelled: its consumed capacity is part of the cost.
	unneeded *partitions
	slots    slotQueue
	top      topRead

	firstSeq int64 // the first number of this pass that counts
	want     int64 // the next number to decide on
	visible  int64 // the number of the last visible event that was read
	batch    pendingBatch
	// cut is the last tombstone above the low mark that names the batch its deletion has cut.
	cut layout.Slot
	// unfinished is the last batch that was left out, if its missing members may still come.
	unfinished unfinishedBatch

	progress progress
	taken    int64 // the highest number known to be taken while a number is missing
	handed   int64
	handing  bool // false once a recovery's window is over
}

// progress is the part of a Result that a replay updates while it hands out events.
type progress struct {
	decided int64 // the last number decided for good
	missing []Span
	skipped []Span // the missing numbers that were decided on after the last event handed out
	part    int64  // see Result
	awaited Span   // the missing numbers before which the replay ends
}

// seekStart reads the marks and the first partition in parallel. Most entities need no more reads.
func (r *replay) seekStart(ctx context.Context) error {
	from := r.req.From
	if (r.req.Recover || r.req.Snapshot) && from%layout.PartitionSize > 0 {
		// The event of the snapshot: with it, the highest number is known even if nothing follows.
		from--
	}
	from = max(from, 1)
	r.lowRead = r.stamps.stamp()
	r.pages = openPartitions(ctx, r, from, 0)
	r.pages.prefetch()
	// Let the reader request the partition before the marks are requested, without waiting for
	// another processor to wake up: if the persistence id is new, another request follows.
	runtime.Gosched()
	read := r.store.Marks
	if r.req.Recover {
		read = r.store.DurableMarks
	}
	var err error
	if r.marks, err = read(ctx, r.meter, r.req.PersistenceID); err != nil {
		r.pages.close()
		return err
	}
	if err := r.req.checkLife(r.marks.Low); err != nil {
		return err
	}
	r.high = r.marks.High
	r.start(max(r.req.From, r.marks.Low.First()))
	if r.firstSeq/layout.PartitionSize != from/layout.PartitionSize {
		r.unneeded = r.pages
		r.pages = openPartitions(ctx, r, r.firstSeq, r.needed())
	}
	r.pages.needed = r.needed()
	r.pages.setMarks(r.marks)
	return nil
}

// start starts a pass that decides on the numbers from the given one on.
func (r *replay) start(from int64) {
	r.firstSeq, r.want = from, from
	r.slots.waiting, r.progress.missing, r.unfinished = nil, nil, unfinishedBatch{}
	r.batch.clear()
	r.progress.skipped = within(r.progress.skipped, r.marks.Low.First(), from-1)
	if r.req.Low != nil {
		r.req.Low(r.marks.Low)
	}
}

// needed returns the last partition that has to be read even if the others are empty.
func (r *replay) needed() int64 {
	if r.req.Recover {
		return r.high / layout.PartitionSize
	}
	return min(r.high, r.req.To) / layout.PartitionSize
}

// restart starts again with the low mark that has moved. Events that were handed out are not handed
// out again. If events between these and the new low mark were deleted, a recovery fails: the state
// of its caller would lack them.
func (r *replay) restart(ctx context.Context) error {
	undecided := r.want
	if r.batch.open() {
		undecided = r.batch.first()
	}
	undecided = r.beforeUnfinished(undecided)
	if r.req.Recover && r.handed > 0 && r.marks.Low.Seq > undecided {
		return ErrDeletedMeanwhile
	}
	r.start(max(undecided, r.marks.Low.First()))
	r.search = nil
	r.pages = openPartitions(ctx, r, r.firstSeq, r.needed())
	return nil
}

// passEnd is the outcome of a pass over the pages.
//
//	seekStart ─▶ pass ─▶ passSatisfied ───────────▶ result
//	          ▲ │ └▶ passOver ─▶ a reader ────▶ result
//	          │ │       └▶ findHighest ────────▶ recovered
//	          │ ▼            │ something is stored after it
//	          │ passStale    │
//	          └─ restart ◀───┘
type passEnd int

const (
	// passOver: all pages are read, and every number is decided on.
	passOver passEnd = iota
	// passSatisfied: a reader has its whole window, or emit has ended the replay.
	passSatisfied
	// passStale: the pages must be read again.
	passStale
)

// pass reads the pages to their end, and decides on every number.
func (r *replay) pass(ctx context.Context) (passEnd, error) {
	switch err := r.decideAll(ctx); {
	case errors.Is(err, ErrStop):
		return passSatisfied, nil
	case errors.Is(err, errStale):
		return passStale, nil
	default:
		return passOver, err
	}
}

// decideAll decides on the numbers of all pages. It returns ErrStop if a reader has its whole
// window, and errStale if the pages must be read again.
func (r *replay) decideAll(ctx context.Context) error {
	for {
		slot, ok, err := r.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			if more, err := r.closeIncompleteEnd(ctx); err != nil {
				return err
			} else if more {
				continue
			}
			return r.end(ctx)
		}
		if err := r.checkUnfinished(ctx, slot); err != nil {
			return err
		}
		r.top.note(slot)
		if slot.SequenceNr < r.want {
			r.noteBefore(slot)
			continue
		}
		if err := r.decideNext(ctx, slot); err != nil {
			return err
		}
		if r.satisfied() {
			return ErrStop
		}
	}
}

// decideNext decides on a slot at the next number or after it, and on the numbers that are missing
// before the slot.
func (r *replay) decideNext(ctx context.Context, slot readSlot) error {
	switch {
	case slot.SequenceNr > r.want && r.coversMissing(slot):
		return r.decideDeleted(ctx, slot) // the missing numbers before it were also deleted
	case slot.SequenceNr > r.want:
		return r.closeGap(ctx, slot)
	}
	r.want++
	return r.decide(ctx, slot)
}

// next returns the next slot, of the queue or of the next page.
func (r *replay) next(ctx context.Context) (readSlot, bool, error) {
	for len(r.slots.waiting) == 0 {
		r.slots.reuse()
		if more, err := r.readPage(ctx); err != nil || !more {
			return readSlot{}, false, err
		}
	}
	return r.slots.pop(), true, nil
}

// readPage appends the slots of the next page to the queue. It reports false after the last page.
func (r *replay) readPage(ctx context.Context) (bool, error) {
	p, ok := r.pages.next()
	if r.req.Started != nil {
		r.req.Started()
	}
	if !ok {
		return false, p.err
	}
	r.slots.read = max(r.slots.read, p.read)
	if err := r.skipEmpty(ctx); err != nil {
		return false, err
	}
	if p.low != nil {
		r.seen = p.low
	}
	r.slots.add(p.slots, p.read)
	releaseSlots(p.slots)
	return true, nil
}

// satisfied reports whether a reader has its whole window. Later items can't change the window.
func (r *replay) satisfied() bool {
	if r.req.Recover {
		return false
	}
	return r.req.Limit != Unlimited && r.handed >= r.req.Limit || r.want > r.req.To && !r.batch.open()
}

// end decides on the rest after the last page: members of a batch at the end, or an empty journal.
// For members at the end see also [replay.closeIncompleteEnd].
func (r *replay) end(ctx context.Context) error {
	if r.batch.open() {
		return r.leaveOutBatch(ctx)
	}
	if r.top.highest == 0 {
		return r.confirmLowMark(ctx, r.slots.read)
	}
	return nil
}

// decide decides on the slot of the next number.
func (r *replay) decide(ctx context.Context, slot readSlot) error {
	if slot.hole {
		if awaits, err := r.awaits(ctx, slot.SequenceNr); err != nil {
			return err
		} else if awaits {
			return ErrStop
		}
	}
	switch e := slot.Event; {
	case e != nil && e.Batch.IsBatch() && e.Batch.Start > r.progress.decided:
		r.progress.part = e.Batch.Last
	case e == nil && (!slot.hole || r.req.Wait.gaveUp(slot.SequenceNr)) && slot.SequenceNr <= r.progress.part:
		r.progress.part = 0
	}
	if slot.Event != nil && r.batch.continues(slot.Event) {
		r.batch.add(slot.Event, slot.at)
		return r.handOutWhole(ctx)
	}
	if err := r.leaveOutBatch(ctx); err != nil {
		return err
	}
	switch e := slot.Event; {
	case slot.Tombstone(), e == nil && slot.Low > 0: // above the low mark
		return r.decideDeleted(ctx, slot)
	case slot.hole:
		r.skip(slot.SequenceNr)
		return nil
	case e == nil:
		return r.decideOnSeal(ctx, slot)
	case !e.Batch.IsBatch():
		return r.handOut(e)
	case r.startsBatch(e):
		r.batch.add(e, slot.at)
		return r.handOutWhole(ctx)
	default: // its batch lacks a member before it
		return r.confirmIrregular(ctx, slot)
	}
}

// handOut calls emit with an event of the window.
func (r *replay) handOut(e *layout.Event) error {
	r.visible = max(r.visible, e.SequenceNr)
	if !r.handing || e.SequenceNr < r.req.From || e.SequenceNr > r.req.To ||
		r.req.Limit != Unlimited && r.handed >= r.req.Limit {
		return nil
	}
	r.handed++
	r.progress.decided, r.progress.missing, r.progress.part = e.SequenceNr, r.progress.missing[:0], 0
	r.reportSkipped()
	return r.emit(e)
}
