package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/replay"
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

// PutRecords writes a history, as Records of this or another journal reads it, to a persistence id under the same numbers and
// with the writers of before. The id must be empty, or hold a beginning of the same history: what is there already is compared
// and left alone, and anything else ends it with a *ContentConflictError; nothing is ever written over. So it can be called
// again after a crash or an error at any point, and later again with what is new: records may begin anywhere up to the number
// after the highest one here.
//
// The order is that of a writer, and a reader meanwhile sees a beginning of the history: the low mark is first, then numbers
// rise, each event only when the one before is durable, the members of an atomic write at the same time, a high mark after the
// event that needs it. Numbers that hold nothing are sealed before what follows them. No other writer may use the id until the
// copy is whole: what it writes is found to be other content by the next call.
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
	journal *Journal
	op      *lifetime.Operation
	pid     string
	opts    PutRecordsOptions
	meter   dynamo.Meter
	paid    Cost
	result  PutRecordsResult

	// low, high and highest are what stood here at the beginning; low and high follow what is written.
	low     layout.LowMark
	high    int64
	highest int64

	next  int64           // the number that the next record has to begin with; 0 before the first
	batch []*layout.Event // the members so far of an atomic write that is not complete
	bytes int             // of their items

	block    int64 // the partition whose slots are known, -1 for none
	standing map[int64]layout.Slot
}

func (p *putting) begin(ctx context.Context) error {
	store := p.journal.store
	marks, err := store.Marks(ctx, &p.meter, p.pid)
	if err != nil {
		return err
	}
	if p.highest, err = store.Highest(ctx, &p.meter, p.pid, marks); err != nil {
		return err
	}
	p.low, p.high, p.block = marks.Low, marks.High, -1
	return p.pace(ctx)
}

func (p *putting) all(ctx context.Context, records iter.Seq2[Record, error]) error {
	if err := p.each(ctx, records); err != nil {
		return err
	}
	if len(p.batch) > 0 {
		return p.invalid(p.next, "an atomic write lacks members")
	}
	p.result.Highest = max(p.next-1, 0)
	if p.highest > p.result.Highest {
		return p.conflict(p.result.Highest+1, "the history that is copied ends before it")
	}
	return p.raiseHighMark(ctx, p.result.Highest)
}

// each takes the records one by one. What the caller's iterator does between them is no part of the operation.
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
	switch {
	case last < first || last > MaxSequenceNumber || last-first >= maxSpan:
		return p.invalid(first, fmt.Sprintf("it is a span that can't be, to %d", last))
	case first < p.low.First():
		return p.conflict(first, "it is deleted here")
	case p.next != 0 && first != p.next:
		return p.invalid(first, fmt.Sprintf("%d was to follow", p.next))
	case p.next == 0 && first > max(p.highest+1, p.low.First()):
		return p.invalid(first, fmt.Sprintf("the highest number here is %d, what lies between is missing", p.highest))
	}
	p.next = last + 1
	return nil
}

// lowMark raises the low mark here, before anything behind it is written, and removes what it deletes.
func (p *putting) lowMark(ctx context.Context, r *Record) error {
	low := layout.LowMark{Seq: r.SequenceNumber, Removed: r.SequenceNumber}
	if r.BatchFirst != 0 {
		low.Cut = layout.Batch{Start: r.BatchFirst, Last: r.BatchLast, WriterUUID: r.WriterUUID}
		if low.Cut.Start < 1 || low.Cut.Start >= low.Seq || low.Cut.Last < low.Seq {
			return p.invalid(r.SequenceNumber, "it does not cut the atomic write that it says")
		}
	}
	if r.SequenceNumber < p.low.Seq {
		return p.conflict(r.SequenceNumber, fmt.Sprintf("it is deleted here, the low mark is %d", p.low.Seq))
	}
	if p.next < low.Seq {
		p.next = low.Seq
	}
	sameCut := low.Cut == p.low.Cut || !low.Cut.IsBatch()
	if low.Seq == p.low.Seq && sameCut {
		if low.Cut = p.low.Cut; p.low.Removed >= low.Seq {
			return nil
		}
	}
	stood, err := p.journal.store.Highest(ctx, &p.meter, p.pid, layout.Marks{High: p.high})
	if err != nil {
		return err
	}
	first, last := max(p.low.Removed, 1), min(stood, low.Seq-1) // what stands here and is to be removed
	if first <= last {
		low.Removed = first
	}
	w := &Writer{journal: p.journal, pid: p.pid, next: max(stood+1, low.Seq)}
	if low.Seq == p.low.Seq {
		err = w.putProgress(ctx, &p.meter, low)
	} else if err = p.journal.store.RaiseLowMark(ctx, &p.meter, p.pid, low); err != nil {
		err = fmt.Errorf("put the low mark: %w", err)
	}
	for ; err == nil && low.Removed < low.Seq; first = low.Removed {
		end := min(first+progressStep, last+1)
		if err = w.entomb(ctx, &p.meter, first, end); err == nil {
			if low.Removed = end; end > last {
				low.Removed = low.Seq
			}
			err = errors.Join(w.putProgress(ctx, &p.meter, low), p.pace(ctx))
		}
	}
	p.low, p.highest, p.block = low, max(p.highest, low.Seq-1), -1
	return err
}

// maxSpan bounds the numbers of one record that is to be written item by item: no journal has as many holes in a row, and a
// damaged archive must not keep anybody busy for ever.
const maxSpan = 1 << 20

// deleted puts tombstones at numbers below the low mark, where there are none.
func (p *putting) deleted(ctx context.Context, first, last int64) error {
	if last < first || last >= p.low.Seq || last-first >= maxSpan {
		return p.invalid(first, "deleted numbers must lie below the low mark")
	}
	w := &Writer{journal: p.journal, pid: p.pid, next: p.low.Seq}
	for seq := first; seq <= last; {
		slot, there, err := p.at(ctx, seq)
		if err != nil {
			return err
		}
		if there && slot.Event == nil {
			seq++
			continue
		}
		end := seq + 1
		for ; end <= last && end%layout.PartitionSize != 0; end++ { // those after it that lack theirs, too
			if slot, there := p.standing[end]; there && slot.Event == nil {
				break
			}
		}
		if err := w.entomb(ctx, &p.meter, seq, end); err != nil {
			return err
		}
		if err := p.pace(ctx); err != nil {
			return err
		}
		seq = end
	}
	return nil
}

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
	if first := whole[0]; first.SequenceNr > first.Batch.Start && first.SequenceNr > p.low.First() {
		if err := p.head(ctx, first); err != nil {
			return err
		}
	}
	return p.put(ctx, whole)
}

// head checks that the members of an atomic write before the first record are here: without them the rest would never count.
func (p *putting) head(ctx context.Context, first *layout.Event) error {
	from := max(first.Batch.Start, p.low.First())
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
			continue
		}
		item := p.journal.encodeEvent(e)
		if size := layout.Size(item); size > maxDynamoItem {
			return &RejectedError{p.pid, -1, size, maxDynamoItem, errItemTooLarge}
		}
		items, missing = append(items, item), append(missing, e)
	}
	if err := p.writeAll(ctx, items, missing); err != nil {
		return err
	}
	p.result.Written += int64(len(missing))
	if first, last := events[0].SequenceNr, events[len(events)-1].SequenceNr; layout.CrossesBlock(first, last) {
		return p.raiseHighMark(ctx, last)
	}
	return nil
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
	return p.pace(ctx)
}

// write puts an event under the condition that nothing stands there, or what stands there is the very same.
func (p *putting) write(ctx context.Context, item layout.Attributes, e *layout.Event) error {
	j := p.journal
	err := j.client.Put(ctx, &p.meter, dynamo.Put{Table: j.config.JournalTable, Item: item, Condition: replay.NotExists})
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err
	}
	slot, err := j.store.Standing(ctx, &p.meter, p.pid, e.SequenceNr, dynamo.OldItem(err))
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
	for lo := first; lo <= last; {
		hi := min(last, lo-lo%layout.PartitionSize+layout.PartitionSize-1)
		if err := p.seal(ctx, lo, hi); err != nil {
			return err
		}
		lo = hi + 1
	}
	if layout.CrossesBlock(first, last) {
		return p.raiseHighMark(ctx, last)
	}
	return nil
}

// seal seals numbers of one partition.
func (p *putting) seal(ctx context.Context, lo, hi int64) error {
	group, sealing := errgroup.WithContext(ctx)
	group.SetLimit(p.journal.config.ReplayParallelism)
	var failed error
	for seq := lo; seq <= hi && failed == nil; seq++ {
		slot, there, err := p.at(ctx, seq)
		if err == nil && there && slot.Event != nil {
			err = p.conflict(seq, fmt.Sprintf("an event of writer %s stands here, and none where it comes from", slot.Event.WriterUUID))
		}
		if failed = err; err != nil || there {
			continue
		}
		group.Go(func() error {
			slot, err := p.journal.store.Seal(sealing, &p.meter, p.pid, seq)
			if err == nil && slot.Event != nil {
				err = p.conflict(seq, fmt.Sprintf("writer %s has written it meanwhile", slot.Event.WriterUUID))
			}
			return err
		})
	}
	if err := errors.Join(failed, group.Wait()); err != nil {
		return err
	}
	return p.pace(ctx)
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
