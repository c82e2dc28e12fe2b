package protocol

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// ErrDeletedMeanwhile says that events which were still to be handed out were deleted after the
// first were handed out.
var ErrDeletedMeanwhile = errors.New("events were deleted while they were being replayed")

// ErrStop ends a reading that has all it wants. An emit that returns it makes Run return nil.
var ErrStop = errors.New("stop")

// errLowMoved says that the low mark moved while the pages were being read: what they show is to be
// read anew.
var errLowMoved = errors.New("the low mark moved")

// errFinished says that a batch that was left out has become whole while the pages were being read.
var errFinished = errors.New("a batch has become whole")

// Unlimited is the Limit of a request for all events.
const Unlimited = -1

// Request says what to read.
type Request struct {
	PersistenceID string
	// From and To are the first and the last sequence number to hand out; From is at least 1.
	From, To int64
	// Limit is how many events to hand out at most, or Unlimited.
	Limit int64
	// Recover reads on behind the window to the highest number, seals every gap, and hands out
	// batches whole or not at all.
	Recover bool
	// Low is given the low mark by which the events that follow are judged, if set: before the
	// first of them, and again when it has moved.
	Low func(layout.LowMark)
	// Begun is called when the marks and a page are there, if set, before anything of the page is
	// handed out: the first time and every further time. It is not called where reading ends
	// before.
	Begun func()
	// Wait makes a reading end before a missing number that may still come; nil does not.
	Wait *Wait
}

// Result is what a recovery has found out.
type Result struct {
	// Highest is the highest sequence number that is taken.
	Highest int64
	// Last is the writer of the event at Highest; empty if something else is stored there, or
	// nothing.
	Last  string
	Marks layout.Marks
	// Decided is the last number that was decided for good, by an event that counts, a tombstone or
	// a seal, of a reading that did not recover. What is stored behind it, members of an atomic
	// write that is not whole, may still come to count.
	Decided int64
	// FarMark is the highest high mark if it was found to be damaged: End says what that is. It is
	// 0 otherwise.
	FarMark int64
	// Behind is the number behind all that a reading has seen that did not recover. Missing are the
	// numbers before it at which nothing was stored, behind the last event that counts.
	Behind  int64
	Missing []Span
	// Awaited are missing numbers that the reading has ended before, by Request.Wait; First is 0
	// where it has not.
	Awaited Span
	// top is the last number that the reading has met, or the last deleted one.
	top int64
	// part is the last number of an atomic write that was met behind the last event that counts,
	// and that was not whole; 0 if there was none, or none that can become whole.
	part int64
	// over reports whether the pages were read to their end.
	over bool
}

// Closed reports whether no number up to the last one wanted can still come, by a reading that did
// not recover and that had wait.
func (r *Result) Closed(to int64, wait *Wait) bool {
	if r.Behind <= to || r.Awaited.First > 0 || r.part > 0 {
		return false
	}
	for _, span := range r.Missing {
		for seq := span.First; seq <= min(span.Last, to); seq++ {
			if !wait.gaveUp(seq) {
				return false
			}
		}
	}
	return true
}

// Run reads the journal of one persistence id, and hands the events of the window to emit, in
// order, each once. It ends when emit returns an error, which it returns. With Recover, everything
// up to Result.Highest is closed when it returns: no event can appear there later that was not
// handed out (or left out by the window).
func (s *Store) Run(ctx context.Context, m *dynamo.Meter, req Request, emit func(*layout.Event) error) (Result, error) {
	r := &run{store: s.While(s.fresh()), meter: m, req: req, emit: emit, handing: true}
	defer func() { r.pages.close() }() // also where emit panics
	if err := r.begin(ctx); err != nil {
		return Result{}, err
	}
	defer r.inVain.wait()
	for {
		err := r.pass(ctx)
		r.pages.close()
		switch {
		case errors.Is(err, ErrStop):
			return r.result(), nil
		case errors.Is(err, errLowMoved), errors.Is(err, errFinished):
			err = r.again(ctx)
		case err == nil && !req.Recover:
			result := r.result()
			result.over = true
			return result, nil
		case err == nil:
			var done bool
			if done, err = r.settle(ctx); done && err == nil {
				return Result{Highest: r.highest, Last: r.last(), Marks: r.marks, FarMark: r.farMark}, nil
			}
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// result is that of a reading that did not recover.
func (r *run) result() Result {
	return Result{
		Marks: r.marks, Decided: r.decided, FarMark: r.farMark, Behind: r.want, Missing: r.missing, Awaited: r.awaited,
		top: r.pages.top, part: r.part,
	}
}

// run is one reading under way.
type run struct {
	store    *Store
	meter    *dynamo.Meter
	req      Request
	emit     func(*layout.Event) error
	sequence sequence

	marks   layout.Marks
	lowRead int64        // when the reading of the low mark had begun
	seen    *lowMarkRead // the low mark as it was read behind the first page, if that was empty

	high    int64 // the number up to which partitions are read whatever they hold: the high mark, or where the journal ends
	farMark int64 // a high mark that is damaged
	ended   bool  // it was looked where the journal ends
	behind  *existing

	pages *partitions
	// inVain reads the first partition of an entity whose low mark turned out to lie behind it. It
	// is waited for, not cancelled: what it costs is part of the cost.
	inVain  *partitions
	began   int64  // the first number of this pass that counts
	want    int64  // the next number to decide on
	highest int64  // the highest number at which something is stored
	reach   int64  // the highest number that a fence says the low mark is raised to
	writer  string // of the event at written, the last one that was read
	written int64
	read    int64 // when the reading of the pages had ended, those that were handed out
	queue   []read
	page    []read // the room of the queue that a page makes, used for each
	batch   pending
	// cut is the last tombstone above the low mark that says which batch its deletion has cut.
	cut layout.Slot
	// unfinished is the last batch that was left out, if its missing members may still come.
	unfinished unfinished

	decided int64 // the last number decided for good
	missing []Span
	part    int64 // see Result
	awaited Span  // the missing numbers that the reading ends before
	taken   int64 // the highest number that was found to be taken while one was missing
	handed  int64
	handing bool // false once a recovery's window is over
}

// read is a slot, and when it was read.
type read struct {
	layout.Slot
	at int64
	// hole reports that nothing is stored there: a slot that only fills a gap.
	hole bool
}

// begin reads the marks and the first partition at the same time: for most entities that is all
// there is.
func (r *run) begin(ctx context.Context) error {
	from := r.req.From
	if r.req.Recover && from%layout.PartitionSize > 0 {
		from-- // the event of the snapshot: with it, the highest number is known even if nothing follows
	}
	from = max(from, 1)
	r.lowRead = r.sequence.stamp()
	r.pages = openPartitions(ctx, r, from, 0)
	r.pages.begin()
	var err error
	if r.marks, err = r.store.Marks(ctx, r.meter, r.req.PersistenceID); err != nil {
		r.pages.close()
		return err
	}
	r.high = r.marks.High
	r.start(max(r.req.From, r.marks.Low.First()))
	if r.began/layout.PartitionSize != from/layout.PartitionSize {
		r.inVain = r.pages
		r.pages = openPartitions(ctx, r, r.began, r.needed())
	}
	r.pages.needed = r.needed()
	r.pages.know(r.marks)
	return nil
}

// start makes from the first number to decide on.
func (r *run) start(from int64) {
	r.began, r.want = from, from
	r.queue, r.missing, r.unfinished = nil, nil, unfinished{}
	r.batch.clear()
	if r.req.Low != nil {
		r.req.Low(r.marks.Low)
	}
}

// needed is the last partition that has to be read whatever the others hold.
func (r *run) needed() int64 {
	if r.req.Recover {
		return r.high / layout.PartitionSize
	}
	return min(r.high, r.req.To) / layout.PartitionSize
}

// skipEmpty is called where a partition is empty. If the high mark says that many more have to be
// read, it looks where the journal ends, as the mark may be damaged; and if the partition is one of
// many empty ones in a row, it goes on with the next one that holds something. What is skipped is
// read once more before it is believed to hold nothing, as any gap is.
//
// A regular journal has no empty partition but behind its end, where an atomic write is under way,
// or one was cut short: the high mark is within reach then.
func (r *run) skipEmpty(ctx context.Context) error {
	p := r.pages
	if p.empty == 0 || p.needed-p.current <= r.store.reach() {
		return nil
	}
	if !r.ended {
		end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
		if err != nil {
			return err
		}
		r.ended, r.high, r.farMark = true, end.Highest, end.FarMark
		p.needed = r.needed()
	}
	if p.empty < lookFarther || p.needed-p.current <= r.store.reach() {
		return nil
	}
	if r.behind == nil {
		r.behind = &existing{store: r.store, meter: r.meter, pid: r.req.PersistenceID, marks: r.marks, edge: sampleEdge}
	}
	next, found, err := r.behind.next(ctx, p.current, p.needed)
	if err != nil {
		return err
	}
	if !found { // what was there was removed meanwhile
		next = p.needed
	}
	p.skipTo(next)
	return nil
}

// again begins anew with the low mark that has moved. What was handed out stays so; if something
// between that and the new low mark was deleted, a recovering caller's state would lack it.
func (r *run) again(ctx context.Context) error {
	undecided := r.want
	if r.batch.open() {
		undecided = r.batch.first()
	}
	if safeguard.DeletedMeanwhile && r.req.Recover && r.handed > 0 && r.marks.Low.Seq > undecided {
		return ErrDeletedMeanwhile
	}
	r.start(max(undecided, r.marks.Low.First()))
	r.behind = nil
	r.pages = openPartitions(ctx, r, r.began, r.needed())
	return nil
}

// last is the writer of the event at the highest number, if there is an event.
func (r *run) last() string {
	if r.written == r.highest {
		return r.writer
	}
	return ""
}

// settle finds the highest number of a recovery that has read all pages. It reports false where
// reading has to begin anew: what is stored behind the first number was not there when its
// partition was read.
func (r *run) settle(ctx context.Context) (bool, error) {
	if r.highest > 0 || r.began == r.marks.Low.First() || !safeguard.HighestLooked {
		r.highest = max(r.highest, r.marks.Low.Seq-1)
		return true, nil
	}
	end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
	if err == nil && safeguard.SnapshotLooked && end.Highest < r.req.From-1 {
		end.Highest, err = r.beforeSnapshot(ctx, end.Highest)
	}
	if err != nil {
		return false, err
	}
	r.farMark = max(r.farMark, end.FarMark)
	if end.Highest >= r.began {
		r.high = max(r.high, layout.HighestBlock(end.Highest)) // a new reading has to come as far
		return false, r.again(ctx)
	}
	r.highest = end.Highest
	return true, nil
}

// pass reads the pages to their end, and decides on every number.
func (r *run) pass(ctx context.Context) error {
	for {
		slot, ok, err := r.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return r.end(ctx)
		}
		if err := r.finished(ctx, slot); err != nil {
			return err
		}
		r.highest, r.reach = max(r.highest, slot.SequenceNr), max(r.reach, slot.Low)
		if slot.Event != nil && slot.SequenceNr >= r.written {
			r.written, r.writer = slot.SequenceNr, slot.Event.WriterUUID
		}
		switch {
		case slot.SequenceNr < r.want:
			continue
		case slot.SequenceNr > r.want && (r.req.Recover || slot.SequenceNr-r.want > MaxHole) && (slot.Tombstone() || slot.Low > 0):
			err = r.deleted(ctx, slot) // what is missing before it was deleted, too
		case slot.SequenceNr > r.want:
			err = r.gap(ctx, slot)
		default:
			r.want++
			err = r.take(ctx, slot)
		}
		if err == nil && r.satisfied() {
			err = ErrStop
		}
		if err != nil {
			return err
		}
	}
}

// next is the next slot, of those that closed a gap or of the pages.
func (r *run) next(ctx context.Context) (read, bool, error) {
	for len(r.queue) == 0 {
		clear(r.page) // what was handed out is not held while the next page is waited for
		r.queue = nil
		p, ok := r.pages.next()
		if r.req.Begun != nil {
			r.req.Begun()
		}
		if !ok {
			return read{}, false, p.err
		}
		r.read = max(r.read, p.read)
		if err := r.skipEmpty(ctx); err != nil {
			return read{}, false, err
		}
		if p.low != nil {
			r.seen = p.low
		}
		r.page = slices.Grow(r.page[:0], len(p.slots))
		for _, s := range p.slots {
			r.page = append(r.page, read{Slot: s, at: p.read})
		}
		r.queue = r.page
	}
	slot := r.queue[0]
	r.queue = r.queue[1:]
	return slot, true, nil
}

// satisfied reports whether a reader has all of its window: nothing behind it can change what it
// holds.
func (r *run) satisfied() bool {
	if r.req.Recover {
		return false
	}
	return r.req.Limit != Unlimited && r.handed >= r.req.Limit || r.want > r.req.To && !r.batch.open()
}

// end decides on what is left when the pages are over: parts of a batch at the end, or that there
// was nothing at all. Parts at the end need no seal: their next number is the one that the next
// write takes, or collides at.
func (r *run) end(ctx context.Context) error {
	if r.batch.open() {
		return r.abandon(ctx)
	}
	if r.highest == 0 {
		return r.confirmLowMark(ctx, r.read)
	}
	return nil
}

// take decides on what is stored at the number that is next.
func (r *run) take(ctx context.Context, slot read) error {
	if slot.hole {
		if awaits, err := r.awaits(ctx, slot.SequenceNr); err != nil {
			return err
		} else if awaits {
			return ErrStop
		}
	}
	switch e := slot.Event; {
	case e != nil && e.Batch.IsBatch() && e.Batch.Start > r.decided:
		r.part = e.Batch.Last
	case e == nil && (!slot.hole || r.req.Wait.gaveUp(slot.SequenceNr)) && slot.SequenceNr <= r.part:
		r.part = 0
	}
	if slot.Event != nil && r.batch.continues(slot.Event) {
		r.batch.add(slot.Event, slot.at)
		return r.completed(ctx)
	}
	if err := r.abandon(ctx); err != nil {
		return err
	}
	switch e := slot.Event; {
	case slot.Tombstone(), e == nil && slot.Low > 0: // above the low mark
		return r.deleted(ctx, slot)
	case e == nil: // sealed, or a hole
		if !slot.hole {
			r.decided = slot.SequenceNr
		}
		return nil
	case !e.Batch.IsBatch():
		return r.hand(e)
	case r.begins(e):
		r.batch.add(e, slot.at)
		return r.completed(ctx)
	default: // its batch lacks a member before it
		return r.irregular(ctx, slot)
	}
}

// deleted decides on a tombstone or a fence above the low mark that is known. If the low mark still
// is not above it, it has vanished (of a purged id, whose items vanish in any order), or has not
// been put yet: who is going to write puts it, as nothing up to there counts any more. It holds the
// tombstone first: when that has vanished as well another recovery sees nothing at all, and begins
// at a number that the raised low mark would hide.
func (r *run) deleted(ctx context.Context, slot read) error {
	first := min(r.want, slot.SequenceNr)
	if err := r.irregular(ctx, slot); err != nil {
		r.want = first
		return err
	}
	if !r.req.Recover || !safeguard.FenceRaises {
		r.decided = slot.SequenceNr
		r.dropped(slot.Slot)
		return nil
	}
	if !slot.Tombstone() {
		overrun, err := r.overrun(ctx, slot.Slot)
		if err != nil {
			return err
		}
		if overrun && safeguard.Overrun {
			r.want, slot.Low = first, 0 // it only closes its number, as a seal
			return r.sealed(ctx, slot)
		}
	}
	low := layout.LowMark{Seq: max(slot.SequenceNr+1, slot.Low), Removed: max(r.marks.Low.Removed, 1)}
	if safeguard.TombstoneCut {
		low.Cut = slot.Cut
	}
	for _, next := range r.queue {
		if !next.Tombstone() || next.SequenceNr != low.Seq {
			break
		}
		low.Seq = max(next.SequenceNr+1, next.Low)
		if safeguard.TombstoneCut {
			low.Cut = next.Cut
		}
	}
	switch {
	case !slot.Tombstone():
		low.Removed = low.Seq // a snapshot is newer than the journal: what is stored below stays, for verify to name
	case safeguard.Hold:
		held, err := r.store.Hold(ctx, r.meter, r.req.PersistenceID, slot.Slot, low)
		if err != nil {
			return err
		}
		if safeguard.HoldVanished && !held {
			r.want = first // where somebody may have begun anew since
			return errLowMoved
		}
	}
	if last := low.Seq - 1; last > r.highest {
		if err := r.store.TakeLast(ctx, r.meter, r.req.PersistenceID, last); err != nil {
			return err
		}
	}
	r.reach = max(r.reach, low.Seq)
	low = r.store.LowMarkAt(low, r.marks, r.highest)
	if err := r.store.RaiseLowMark(ctx, r.meter, r.req.PersistenceID, low); err != nil {
		return err
	}
	r.want = slot.SequenceNr
	return r.confirmLowMark(ctx, r.sequence.stamp())
}

// dropped takes from a tombstone above the low mark, where a reader meets it, what the low mark of
// its deletion said of the batch that was cut. In a shared journal a JVM's low mark can have taken
// that one's place.
func (r *run) dropped(slot layout.Slot) {
	if !slot.Cut.IsBatch() || !safeguard.TombstoneCut {
		return
	}
	if r.cut = slot; r.req.Low != nil {
		r.req.Low(layout.LowMark{Seq: slot.SequenceNr + 1, Removed: 1, Cut: slot.Cut})
	}
}

// sealed decides on a seal, and closes the numbers missing before it first.
func (r *run) sealed(ctx context.Context, slot read) error {
	if slot.SequenceNr > r.want {
		return r.gap(ctx, slot)
	}
	r.want++
	return nil
}

// irregular has the low mark read after a slot that only a deletion explains; want is put back, for
// the case that it moved.
func (r *run) irregular(ctx context.Context, slot read) error {
	r.want = slot.SequenceNr
	if err := r.confirmLowMark(ctx, slot.at); err != nil {
		return err
	}
	r.want++
	return nil
}

// abandon leaves out a batch of which a member is missing, once it is known that no deletion
// explains it.
func (r *run) abandon(ctx context.Context) error {
	if !r.batch.open() {
		return nil
	}
	if err := r.confirmLowMark(ctx, r.batch.read); err != nil {
		return err
	}
	r.batch.clear()
	return nil
}

// completed hands out a batch whose last member has been read, if those before the first one that
// was read are there too.
func (r *run) completed(ctx context.Context) error {
	if !r.batch.whole() {
		return nil
	}
	there, err := r.headThere(ctx)
	if err != nil {
		return err
	}
	if safeguard.HeadThere && !there {
		r.leave(r.batch.batch, r.batch.read)
		return r.abandon(ctx)
	}
	events := r.batch.events
	r.batch.clear()
	return r.handBatch(events)
}

// headThere looks at the members of the batch before the number where reading began. Those below
// the low mark were deleted; whether they were all there, the mark says.
func (r *run) headThere(ctx context.Context) (bool, error) {
	b, first := r.batch.batch, r.batch.first()
	low := r.marks.Low
	if safeguard.HeadCut && b.Start < low.First() && b.Start < first && !low.CutCompletes(b) {
		return false, nil
	}
	there, err := r.store.Members(ctx, r.meter, r.req.PersistenceID, b, max(b.Start, low.First()), first-1)
	r.batch.read = r.sequence.stamp()
	return there, err
}

// handBatch hands out the members of a whole batch that the window holds. A recovery stops before
// one that its limits cut.
func (r *run) handBatch(events []*layout.Event) error {
	if r.req.Recover && r.handing {
		last := events[len(events)-1].SequenceNr
		over := r.req.Limit != Unlimited && r.handed+int64(len(events)) > r.req.Limit
		r.handing = last <= r.req.To && !over
	}
	for _, e := range events {
		if err := r.hand(e); err != nil {
			return err
		}
	}
	return nil
}

// hand gives an event to the caller, if the window holds it.
func (r *run) hand(e *layout.Event) error {
	if !r.handing || e.SequenceNr < r.req.From || e.SequenceNr > r.req.To ||
		r.req.Limit != Unlimited && r.handed >= r.req.Limit {
		return nil
	}
	r.handed++
	r.decided, r.missing, r.part = e.SequenceNr, r.missing[:0], 0
	return r.emit(e)
}
