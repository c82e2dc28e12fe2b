package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// PutRecordsOptions say how to write a history.
type PutRecordsOptions struct {
	// Pace is called with what the request before has used up, if set; it may wait, and ends the writing with an error.
	Pace func(ctx context.Context, used Cost) error
}

// PutRecordsResult says what became of a history.
type PutRecordsResult struct {
	// Events is how many events the records held, Written how many of them were not there before.
	Events, Written int64
	// Highest is the last number of the records, 0 if there were none.
	Highest int64
	Cost    Cost
}

// PutRecords writes a history, as Records of this or another journal reads it, to a persistence id
// under the same numbers and with the writers of before. The id must be empty, or hold a beginning
// of the same history. So it can be called again after a crash or an error at any point, and later
// again with what is new: records may begin anywhere up to the number after the highest one here.
//
// What the id holds is compared first, up to its highest number. Until all of it was found equal
// nothing is written, raised or removed; anything else ends the call with a *ContentConflictError,
// and the id is as it was. A low mark of the records that lies above events of the id removes them
// only where an event at or above them was compared equal: below it both are one history. So a
// history that is deleted up to a number above everything that the id holds has nothing in common
// with it, and is refused: purge the id first (with PurgeOptions.Now, so that its numbers are free
// at once), or copy to another journal. An id whose events are all deleted takes any later history.
//
// Then the order is that of a writer, and a reader meanwhile sees a beginning of the history: the
// low mark is first, then numbers rise, each event only when the one before is durable, the members
// of an atomic write at the same time, a high mark after the event that needs it. Numbers that hold
// nothing are sealed before what follows them. No other writer may use the id until the copy is
// whole: what it writes is found to be other content by the next call.
//
// Errors: *ContentConflictError, ErrInvalidArgument (records out of order, with gaps, or members of an atomic write missing),
// ErrRejected (an item or atomic write over the limits), ErrCorruptItem, those of the records, and of any request.
func (j *Journal) PutRecords(ctx context.Context, persistenceID string, records iter.Seq2[Record, error], opts PutRecordsOptions) (PutRecordsResult, error) {
	if err := j.checkID(persistenceID); err != nil {
		return PutRecordsResult{}, err
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return PutRecordsResult{}, err
	}
	defer op.End()
	p := &putting{journal: j, op: op, pid: persistenceID, opts: opts}
	if err = p.begin(ctx); err == nil {
		err = p.all(ctx, records)
	}
	p.result.Cost = p.meter.Cost()
	if err != nil {
		return p.result, fmt.Errorf("write the history of %q: %w", persistenceID, itemError(j.config.JournalTable, err))
	}
	return p.result, nil
}

// putting is one history on its way into the journal.
type putting struct {
	overlap

	journal *Journal
	op      *lifetime.Operation
	pid     string
	opts    PutRecordsOptions
	meter   dynamo.Meter
	paid    Cost
	result  PutRecordsResult

	// low and highest are what was here at the beginning, high the high mark that is known to stay;
	// low and high follow what is written. expiring reports that the id was purged: its marks
	// vanish unless they are put again. hint leads to what is here.
	low      layout.LowMark
	jvmLow   int64 // as a JVM reads it
	expiring bool
	high     int64
	hint     int64
	highest  int64
	// tip is the highest number that is taken here, those included that this call has written.
	tip int64

	next  int64           // the number that the next record must begin with; 0 where it may begin anywhere up to tip+1
	ends  int64           // the last number that the records have told
	batch []*layout.Event // the members so far of an atomic write that is not complete
	bytes int             // of their items

	// began is when the first request began: the answers since tell whether the clock is off.
	began clock.Moment

	block    int64 // the partition whose slots are known, -1 for none
	standing map[int64]layout.Slot
}

func (p *putting) begin(ctx context.Context) error {
	store := p.journal.store
	p.began = p.journal.clock.Now()
	marks, err := store.Marks(ctx, &p.meter, p.pid)
	if err != nil {
		return err
	}
	if p.highest, err = store.Highest(ctx, &p.meter, p.pid, marks); err != nil {
		return err
	}
	p.jvmLow = marks.JVMLow
	p.low, p.expiring, p.hint, p.tip, p.block = marks.Low, marks.Expiring, marks.High, p.highest, -1
	if !p.expiring { // else every high mark is put again
		p.high = marks.High
	}
	return p.pace(ctx)
}

func (p *putting) all(ctx context.Context, records iter.Seq2[Record, error]) error {
	if err := p.each(ctx, records); err != nil {
		return err
	}
	if len(p.batch) > 0 {
		return p.invalid(p.next, "an atomic write lacks members")
	}
	if p.highest > p.ends {
		return p.conflict(p.ends+1, "the history that is copied ends before it")
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	p.result.Highest = p.ends
	return p.raiseHighMark(ctx, p.ends)
}

// each takes the records one by one. What the caller's iterator does between them is no part of the
// operation.
func (p *putting) each(ctx context.Context, records iter.Seq2[Record, error]) error {
	var failed error
	p.op.Leave()
	for record, err := range records {
		if err == nil {
			err = p.op.Return()
		}
		if err == nil {
			err = p.record(ctx, &record)
			p.op.Leave()
		}
		if failed = err; err != nil {
			break
		}
	}
	if closed := p.op.Return(); failed == nil {
		failed = closed
	}
	return failed
}

func (p *putting) record(ctx context.Context, r *Record) error {
	if r.SequenceNumber < 1 || r.SequenceNumber > MaxSequenceNumber && (r.Kind != RecordLowMark || r.SequenceNumber != MaxSequenceNumber+1) {
		return p.invalid(r.SequenceNumber, "no such sequence number")
	}
	if !isText(r.WriterUUID, r.Manifest, r.SerializerManifest) {
		return p.invalid(r.SequenceNumber, "its writer or a manifest is not valid UTF-8")
	}
	if len(p.batch) > 0 && r.Kind != RecordEvent {
		return p.invalid(r.SequenceNumber, "an atomic write lacks members")
	}
	switch r.Kind {
	case RecordLowMark:
		return p.lowMark(ctx, r)
	case RecordEvent:
		if err := p.follows(r.SequenceNumber, r.SequenceNumber); err != nil {
			return err
		}
		return p.event(ctx, r)
	case RecordClosed:
		if err := p.follows(r.SequenceNumber, r.Last); err != nil {
			return err
		}
		return p.closed(ctx, r.SequenceNumber, r.Last)
	case RecordDeleted:
		return p.deleted(ctx, r.SequenceNumber, r.Last)
	}
	return p.invalid(r.SequenceNumber, fmt.Sprintf("there is no kind of record %d", r.Kind))
}

// follows checks that a span begins where the record before has ended, and the first one not behind what is here.
func (p *putting) follows(first, last int64) error {
	lowest := p.lowest().First()
	switch {
	case last < first || last > MaxSequenceNumber || last-first >= maxSpan:
		return p.invalid(first, fmt.Sprintf("it is a span that can't be, to %d", last))
	case first < lowest:
		return p.conflict(first, "it is deleted here")
	case p.next != 0 && first != p.next:
		return p.invalid(first, fmt.Sprintf("%d was to follow", p.next))
	case p.next == 0 && first > max(p.tip+1, lowest):
		return p.invalid(first, fmt.Sprintf("the highest number here is %d, what lies between is missing", p.tip))
	}
	p.next, p.ends = last+1, last
	return nil
}

// lowMark takes a low mark. It is put when everything that is here was compared.
func (p *putting) lowMark(ctx context.Context, r *Record) error {
	low := layout.LowMark{Seq: r.SequenceNumber}
	if r.BatchFirst != 0 {
		low.Cut = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if low.Cut.Start < 1 || low.Cut.Start >= low.Seq || low.Cut.Last < low.Seq {
			return p.invalid(r.SequenceNumber, "it does not cut the atomic write that it says")
		}
	}
	known := p.lowest()
	switch {
	case low.Seq < known.Seq:
		return p.conflict(low.Seq, fmt.Sprintf("it is deleted here, the low mark is %d", known.Seq))
	case low.Seq > known.Seq: // the records go on there
		p.next = max(p.next, low.Seq)
	case !low.Cut.IsBatch(): // a reading that begins further on does not know what a JVM's low mark cuts
		low.Cut, low.JVM = known.Cut, known.JVM
	case known.Cut.IsBatch() && known.Cut != low.Cut:
		return p.conflict(low.Seq, fmt.Sprintf("the low mark here cuts another atomic write, %d to %d", known.Cut.Start, known.Cut.Last))
	}
	p.ends = max(p.ends, low.Seq-1)
	if low.Seq == p.low.Seq && low.Cut == p.low.Cut && p.low.Removed >= low.Seq && !p.expiring {
		return nil
	}
	if err := p.unseen(ctx, low.Seq); err != nil {
		return err
	}
	if p.pending = &low; p.settled {
		return p.settle(ctx)
	}
	return nil
}

// maxSpan bounds the numbers of one record that is to be written item by item: no journal has as many holes in a row, and a
// damaged archive must not keep anybody busy for ever.
const maxSpan = 1 << 20

// event takes an event: a single one is written at once, a member of an atomic write when all are there.
func (p *putting) event(ctx context.Context, r *Record) error {
	p.result.Events++
	e := &layout.Event{
		PersistenceID:      p.pid,
		SequenceNr:         r.SequenceNumber,
		Bytes:              r.Bytes,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Manifest:           r.Manifest,
		WriterUUID:         r.WriterUUID,
		Enveloped:          p.journal.config.EventEnvelope,
	}
	if r.BatchFirst != 0 {
		e.Batch = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if r.BatchFirst < 1 || r.BatchFirst > r.SequenceNumber || r.BatchLast < r.SequenceNumber || r.BatchLast > MaxSequenceNumber {
			return p.invalid(r.SequenceNumber, "it lies outside of its atomic write")
		}
	}
	if len(p.batch) > 0 && p.batch[0].Batch != e.Batch {
		return p.invalid(r.SequenceNumber, "the atomic write before lacks members")
	}
	if !e.Batch.IsBatch() {
		return p.put(ctx, []*layout.Event{e})
	}
	p.batch = append(p.batch, e)
	p.bytes += len(e.Bytes)
	switch config := &p.journal.config; {
	case len(p.batch) > config.MaxBatchEvents:
		return &RejectedError{p.pid, -1, len(p.batch), config.MaxBatchEvents, errTooManyEvents}
	case p.bytes > config.MaxBatchBytes:
		return &RejectedError{p.pid, -1, p.bytes, config.MaxBatchBytes, errBatchTooLarge}
	case e.SequenceNr < e.Batch.Last:
		return nil
	}
	whole := p.batch
	p.batch, p.bytes = nil, 0
	if err := p.head(ctx, whole[0]); err != nil {
		return err
	}
	return p.put(ctx, whole)
}

// head checks that the members of an atomic write before its first record are here, or were cut off
// by the low mark: without them the rest would never count.
func (p *putting) head(ctx context.Context, first *layout.Event) error {
	if first.SequenceNr == first.Batch.Start {
		return nil
	}
	low := p.lowest()
	if first.Batch.Start < low.First() && !low.CutCompletes(first.Batch) {
		return p.invalid(first.SequenceNr, "its atomic write begins below the low mark, which does not cut it")
	}
	from := max(first.Batch.Start, low.First())
	there, err := p.journal.store.Members(ctx, &p.meter, p.pid, first.Batch, from, first.SequenceNr-1)
	if err == nil && !there {
		err = p.invalid(first.SequenceNr, fmt.Sprintf("members of its atomic write from %d on are missing", from))
	}
	return err
}

// put writes events that belong together, as far as they are not there. All are compared before the first is written.
func (p *putting) put(ctx context.Context, events []*layout.Event) error {
	items := make([]layout.Attributes, 0, len(events))
	missing := make([]*layout.Event, 0, len(events))
	for _, e := range events {
		slot, there, err := p.at(ctx, e.SequenceNr)
		if err != nil {
			return err
		}
		if there {
			if err := p.same(slot, e); err != nil {
				return err
			}
			p.equal = e.SequenceNr
			continue
		}
		item := p.journal.encodeEvent(e)
		if size := layout.Size(item); size > maxDynamoItem {
			return &RejectedError{p.pid, -1, size, maxDynamoItem, errItemTooLarge}
		}
		items, missing = append(items, item), append(missing, e)
	}
	first, last := events[0].SequenceNr, events[len(events)-1].SequenceNr
	return p.compared(ctx, first, last, missing, func(ctx context.Context) error { return p.writeAll(ctx, items, missing) })
}

// compared does what takes the numbers first to last. Where the target may hold something behind
// them it is held until all of that was compared. missing are the events that it writes.
func (p *putting) compared(
	ctx context.Context, first, last int64, missing []*layout.Event, take func(context.Context) error,
) error {
	write := func(ctx context.Context) error {
		if err := take(ctx); err != nil {
			return err
		}
		p.tip, p.equal = max(p.tip, last), max(p.equal, last)
		if layout.CrossesBlock(first, last) {
			return p.raiseHighMark(ctx, last)
		}
		return nil
	}
	if p.compares(last) {
		return p.hold(missing, write)
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	return write(ctx)
}

func (p *putting) writeAll(ctx context.Context, items []layout.Attributes, events []*layout.Event) error {
	if len(items) == 0 {
		return nil
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(p.journal.config.ReplayParallelism)
	for i := range items {
		group.Go(func() error { return p.write(writing, items[i], events[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p.result.Written += int64(len(events))
	return p.pace(ctx)
}

// write puts an event under the condition that nothing stands there, or what stands there is the very same.
func (p *putting) write(ctx context.Context, item layout.Attributes, e *layout.Event) error {
	j := p.journal
	err := j.client.Put(ctx, &p.meter, dynamo.Put{Table: j.config.JournalTable, Item: item, Condition: protocol.NotExists})
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	slot, err := j.store.MetSlot(ctx, &p.meter, p.pid, e.SequenceNr, dynamo.OldItem(err))
	if err != nil {
		return err
	}
	return p.same(slot, e)
}

// same says whether what stands at an event's number is the event.
func (p *putting) same(slot layout.Slot, e *layout.Event) error {
	switch there := slot.Event; {
	case there == nil:
		return p.conflict(e.SequenceNr, "it is deleted or sealed here")
	case !layout.SameEvent(slot, e) || there.SerializerManifest != e.SerializerManifest || there.Manifest != e.Manifest:
		return p.conflict(e.SequenceNr, fmt.Sprintf("another event of writer %s stands here", there.WriterUUID))
	}
	return nil
}

// closed seals numbers, as far as they are not taken. What follows them is written when they are sealed.
func (p *putting) closed(ctx context.Context, first, last int64) error {
	missing, err := p.notTaken(ctx, first, last)
	if err != nil {
		return err
	}
	return p.compared(ctx, first, last, nil, func(ctx context.Context) error {
		for _, s := range missing {
			if err := p.seal(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// span is some numbers in a row, all of one partition.
type span struct{ first, last int64 }

// notTaken finds the numbers at which nothing is here. At the others there must be no event.
func (p *putting) notTaken(ctx context.Context, first, last int64) ([]span, error) {
	var missing []span
	for seq := first; seq <= last; seq++ {
		slot, there, err := p.at(ctx, seq)
		switch n := len(missing); {
		case err != nil:
			return nil, err
		case there && slot.Event != nil:
			return nil, p.conflict(seq, fmt.Sprintf("an event of writer %s is here, and none where it comes from", slot.Event.WriterUUID))
		case there:
		case n > 0 && missing[n-1].last == seq-1 && seq%layout.PartitionSize != 0:
			missing[n-1].last = seq
		default:
			missing = append(missing, span{seq, seq})
		}
	}
	return missing, nil
}

// seal seals numbers of one partition.
func (p *putting) seal(ctx context.Context, s span) error {
	return p.eachOf(ctx, s, func(ctx context.Context, seq int64) error {
		slot, err := p.journal.store.Seal(ctx, &p.meter, p.pid, seq)
		if err == nil && slot.Event != nil {
			err = p.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
		}
		return err
	})
}

// eachOf does something with every number of a span, with several at the same time.
func (p *putting) eachOf(ctx context.Context, s span, do func(ctx context.Context, seq int64) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(p.journal.config.ReplayParallelism)
	for seq := s.first; seq <= s.last && working.Err() == nil; seq++ {
		group.Go(func() error { return do(working, seq) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.pace(ctx)
}

// deleted keeps numbers below the low mark taken by tombstones, where nothing is there.
func (p *putting) deleted(ctx context.Context, first, last int64) error {
	if last < first || last >= p.lowest().Seq || last-first >= maxSpan {
		return p.invalid(first, "deleted numbers must lie below the low mark")
	}
	if p.settled {
		return p.keepTaken(ctx, first, last)
	}
	// An event below this is none that the low mark is going to remove.
	if _, err := p.notTaken(ctx, first, min(last, p.low.Removed-1)); err != nil {
		return err
	}
	return p.hold(nil, func(ctx context.Context) error { return p.keepTaken(ctx, first, last) })
}

// keepTaken puts tombstones where nothing is there. Each is put under that condition: an event that
// nobody has removed is none of this history. In a shared journal none is put into the block of the
// highest deleted number: one that comes late could be the last item that a JVM finds there.
func (p *putting) keepTaken(ctx context.Context, first, last int64) error {
	if p.journal.store.Shared() {
		last = min(last, layout.HighestBlock(p.low.Seq-1)-1)
	}
	missing, err := p.notTaken(ctx, first, last)
	if err != nil {
		return err
	}
	w := &Writer{journal: p.journal, pid: p.pid, next: p.low.Seq}
	for _, s := range missing {
		if err := p.eachOf(ctx, s, func(ctx context.Context, seq int64) error {
			return whileYoung(p.journal, func(expires int64, young func() error) error {
				return p.tombstone(ctx, seq, w.tombstone(seq, expires), young)
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *putting) tombstone(ctx context.Context, seq int64, item layout.Attributes, young func() error) error {
	j := p.journal
	put := dynamo.Put{Table: j.config.JournalTable, Item: item, Condition: protocol.NotExists, Before: young}
	err := j.client.Put(ctx, &p.meter, put)
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	slot, err := j.store.MetSlot(ctx, &p.meter, p.pid, seq, dynamo.OldItem(err))
	if err == nil && slot.Event != nil {
		err = p.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
	}
	return err
}

// raiseHighMark puts the high mark that a number needs, unless one as high stands.
func (p *putting) raiseHighMark(ctx context.Context, seq int64) error {
	mark := layout.HighestBlock(seq)
	if mark <= p.high {
		return nil
	}
	if err := p.journal.store.RaiseHighMark(ctx, &p.meter, p.pid, seq, nil); err != nil {
		return fmt.Errorf("put the high mark: %w", err)
	}
	p.high = mark
	return p.pace(ctx)
}

// at is what stands at a number, of those up to the highest that there was at the beginning.
func (p *putting) at(ctx context.Context, seq int64) (layout.Slot, bool, error) {
	if seq > p.highest {
		return layout.Slot{}, false, nil
	}
	if block := seq / layout.PartitionSize; block != p.block {
		slots, err := p.journal.store.Partition(ctx, &p.meter, p.pid, block)
		if err != nil {
			return layout.Slot{}, false, err
		}
		p.standing = make(map[int64]layout.Slot, len(slots))
		for _, slot := range slots {
			p.standing[slot.SequenceNr] = slot
		}
		p.block = block
		if err := p.pace(ctx); err != nil {
			return layout.Slot{}, false, err
		}
	}
	slot, there := p.standing[seq]
	return slot, there, nil
}

// pace reports what was used up since the last time.
func (p *putting) pace(ctx context.Context) error {
	return paced(ctx, p.op, &p.meter, &p.paid, p.opts.Pace)
}

func (p *putting) conflict(seq int64, detail string) error {
	return &ContentConflictError{PersistenceID: p.pid, SequenceNumber: seq, Detail: detail}
}

func (p *putting) invalid(seq int64, reason string) error {
	return &ArgumentError{"records", seq, reason}
}

// CopySnapshot saves a snapshot that comes from elsewhere with its number and time. If the same one is there it does nothing
// and says false; one of the same number with other content is a *ContentConflictError. Called again after a crash it goes on
// with what it has begun. Errors are those of SaveSnapshot besides.
func (j *Journal) CopySnapshot(ctx context.Context, s Snapshot) (bool, error) {
	if err := j.checkSnapshot(s.SnapshotMetadata); err != nil {
		return false, err
	}
	if !isText(s.SerializerManifest) {
		return false, &ArgumentError{"Snapshot.SerializerManifest", s.SerializerManifest, layout.ErrNotUTF8.Error()}
	}
	at := SnapshotCriteria{MinSequenceNumber: s.SequenceNumber, MaxSequenceNumber: s.SequenceNumber}
	there, found, err := j.LoadSnapshot(ctx, s.PersistenceID, at)
	if err != nil {
		return false, err
	}
	if found {
		if there.Timestamp.UnixMilli() != s.Timestamp.UnixMilli() || !sameState(there, s) {
			return false, &ContentConflictError{s.PersistenceID, s.SequenceNumber, "another snapshot stands here"}
		}
		return false, nil
	}
	ctx, done, err := j.life.Read(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	var m dynamo.Meter
	err = j.saved.Copy(ctx, &m, &layout.Snapshot{
		PersistenceID: s.PersistenceID,
		SequenceNr:    s.SequenceNumber,
		Timestamp:     s.Timestamp.UnixMilli(),
		SerializerID:  s.SerializerID,
		Manifest:      s.SerializerManifest,
		Bytes:         s.Bytes,
	})
	return err == nil, j.snapshotError("copy a snapshot", s.PersistenceID, err)
}

func sameState(a, b Snapshot) bool {
	return a.SerializerID == b.SerializerID && a.SerializerManifest == b.SerializerManifest && string(a.Bytes) == string(b.Bytes)
}
