// Package verify reads the journal of a persistence id as it stands, names what is not as it should be, and repairs what
// can be repaired without losing an event.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/replay"
)

// Kind names what is wrong.
type Kind string

// The kinds of findings. Which can be repaired, Finding.Repairable says.
const (
	// MissingHighMark: the highest sequence number needs a high mark that is not there; the JVM plug-ins don't see what
	// stands behind it.
	MissingHighMark Kind = "missing-high-mark"
	// IncompleteBatch: members of an atomic write are missing, so nobody sees the others.
	IncompleteBatch Kind = "incomplete-batch"
	// Hole: sequence numbers at which nothing stands, with something behind them.
	Hole Kind = "hole"
	// OrphanBelowLowMark: a deleted event whose item is still there.
	OrphanBelowLowMark Kind = "orphan-below-low-mark"
	// ForeignWriter: a writer goes on after another has written: two wrote at the same time, and one may have overwritten
	// events of the other.
	ForeignWriter Kind = "foreign-writer"
	// Undecodable: an item, or the payload of an event whose serializer is known, can't be read.
	Undecodable Kind = "undecodable"
	// MarkBeyondEvents: a high mark lies behind the highest sequence number.
	MarkBeyondEvents Kind = "mark-beyond-events"
	// WrongShards: a mark stands in a shard where it does not belong: somebody writes with another number of shards.
	WrongShards Kind = "wrong-shards"
	// SnapshotBeyondJournal: a snapshot contains events that the journal does not have.
	SnapshotBeyondJournal Kind = "snapshot-beyond-journal"
	// ExpiredTombstone: a tombstone is over its time and nothing removes it, as the table's TTL is off.
	ExpiredTombstone Kind = "expired-tombstone"
	// NotInIDsIndex: the persistence id is not listed by the sparse ids index.
	NotInIDsIndex Kind = "not-in-ids-index"
)

// Finding is something that is not as it should be.
type Finding struct {
	PersistenceID string
	Kind          Kind
	// SequenceNr is where it was found, the first of several.
	SequenceNr int64
	// Detail says what was found, in words.
	Detail     string
	Repairable bool

	// repair mends it.
	repair func(context.Context, *dynamo.Meter) error
}

// Checker checks persistence ids of one journal.
type Checker struct {
	Store *replay.Store
	// Native says that the journal has the sparse ids index.
	Native bool
	// TTL says that expired items are removed by DynamoDB.
	TTL bool
	// Now is the time in seconds since 1970.
	Now func() int64
	// TombstoneExpiry is when a tombstone put now may vanish.
	TombstoneExpiry func() int64
	// Decode says why a payload can't be decoded; nil if it can be, or if its serializer is not known.
	Decode func(*layout.Event) error
	// NewestSnapshot is the highest sequence number of a snapshot, 0 if there is none.
	NewestSnapshot func(ctx context.Context, m *dynamo.Meter, pid string) (int64, error)
	// Paced is called after each request with the read units it cost, to keep to a limit; it may wait.
	Paced func(ctx context.Context, units float64) error
}

// Check gives every finding of a persistence id to report, until report returns an error, which it returns. It holds one
// partition and the parts of one atomic write in memory. What is written meanwhile may look like damage: a batch on its way
// is incomplete.
func (c *Checker) Check(ctx context.Context, pid string, report func(Finding) error) error {
	k := &check{Checker: c, pid: pid, report: report}
	if err := k.marksOf(ctx); err != nil {
		return err
	}
	read := func(p int64) (bool, error) { return k.partition(ctx, p) }
	if err := k.Store.EachExisting(ctx, &k.meter, pid, k.marks, 0, max(k.highest, 0)/layout.PartitionSize, read); err != nil {
		return err
	}
	if err := k.batchOver(); err != nil {
		return err
	}
	return k.whole(ctx)
}

// check is the check of one persistence id.
type check struct {
	*Checker
	pid     string
	report  func(Finding) error
	meter   dynamo.Meter
	paid    float64
	marks   layout.Marks
	highest int64

	want    int64           // the next number expected
	live    bool            // something counts for the ids index
	writers map[string]bool // writers that another has followed
	writer  string          // that of the last event

	taken  int64        // the last live number at which an event or a seal stands, before the one being checked
	by     layout.Batch // the atomic write of what stands there, if it is one
	batch  layout.Batch
	events []*layout.Event // members of batch that are there
	dead   bool            // something else stands at a member's number, or it was deleted: batch can never become whole
}

func (k *check) found(kind Kind, seq int64, repair func(context.Context, *dynamo.Meter) error, format string, args ...any) error {
	return k.report(Finding{
		PersistenceID: k.pid,
		Kind:          kind,
		SequenceNr:    seq,
		Detail:        fmt.Sprintf(format, args...),
		Repairable:    repair != nil,
		repair:        repair,
	})
}

// pace reports what was read since the last time.
func (k *check) pace(ctx context.Context) error {
	units := k.meter.Cost().ReadUnits
	defer func() { k.paid = units }()
	if k.Paced == nil {
		return nil
	}
	return k.Paced(ctx, units-k.paid)
}

// marksOf reads the marks, those in shards that should not be there too.
func (k *check) marksOf(ctx context.Context) error {
	var err error
	if k.marks, err = k.Store.Marks(ctx, &k.meter, k.pid); err != nil {
		return k.itemFound(err)
	}
	if k.highest, err = k.Store.Highest(ctx, &k.meter, k.pid, k.marks); err != nil {
		if err = k.itemFound(err); err != nil {
			return err
		}
		k.highest = max(k.marks.High, k.marks.Low.Seq-1)
	}
	k.want = k.marks.Low.First()
	k.writers = map[string]bool{}
	if err := k.shards(ctx); err != nil {
		return err
	}
	if need := layout.HighestBlock(k.highest); need > k.marks.High {
		put := func(ctx context.Context, m *dynamo.Meter) error {
			return k.Store.RaiseHighMark(ctx, m, k.pid, k.highest, nil)
		}
		if err := k.found(MissingHighMark, need, put, "the highest sequence number is %d, the high mark %d", k.highest, k.marks.High); err != nil {
			return err
		}
	}
	if k.marks.High > k.highest {
		if err := k.found(MarkBeyondEvents, k.marks.High, nil, "the highest sequence number is %d, the high mark %d", k.highest, k.marks.High); err != nil {
			return err
		}
	}
	return k.pace(ctx)
}

// shards looks for marks in shards where they don't belong, as far as the default number of shards reaches.
func (k *check) shards(ctx context.Context) error {
	wide := k.Store.Keys
	wide.Shards = max(wide.Shards, layout.DefaultShards)
	keys := append(wide.HighMarks(k.pid), wide.LowMarks(k.pid)...)
	wanted := make([]dynamo.Attributes, len(keys))
	for i, key := range keys {
		wanted[i] = key.Attributes()
	}
	items, err := k.Store.Client.BatchGet(ctx, &k.meter, k.Store.Table, wanted)
	if err != nil {
		return err
	}
	for _, item := range items {
		key, seq, err := layout.DecodeMark(item)
		if err != nil {
			if err = k.itemFound(err); err != nil {
				return err
			}
			continue
		}
		right := k.Store.Keys.HighMark(k.pid, seq)
		if strings.HasPrefix(key.Par, k.Store.Keys.Journal+"-SL-") {
			right = k.Store.Keys.LowMark(k.pid, seq)
		}
		if right != key {
			if err := k.found(WrongShards, seq, nil, "the mark at par=%q belongs to par=%q with %d shards", key.Par, right.Par, k.Store.Keys.Shards); err != nil {
				return err
			}
		}
	}
	return nil
}

// itemFound turns an item that can't be read into a finding; other errors stay.
func (k *check) itemFound(err error) error {
	var item *layout.ItemError
	if !errors.As(err, &item) {
		return err
	}
	return k.found(Undecodable, max(item.Key.Num, 0), nil, "%v", item)
}

// partition checks every number of a partition. It reports whether anything is there.
func (k *check) partition(ctx context.Context, p int64) (bool, error) {
	there := false
	err := k.Store.EachItem(ctx, &k.meter, k.pid, p, func(slot layout.Slot, err error) error {
		there = true
		if err != nil {
			if err = k.itemFound(err); err == nil {
				k.want = max(k.want, slot.SequenceNr+1)
			}
			return err
		}
		return k.slot(slot)
	})
	if err != nil {
		return there, err
	}
	return there, k.pace(ctx)
}

func (k *check) slot(s layout.Slot) error {
	if s.SequenceNr < k.marks.Low.First() {
		return k.below(s)
	}
	if s.SequenceNr > k.want {
		if err := k.batchOver(); err != nil {
			return err
		}
		last := s.SequenceNr - 1
		if err := k.found(Hole, k.want, nil, "nothing stands at %d to %d; the next recovery seals them", k.want, last); err != nil {
			return err
		}
	}
	k.want = s.SequenceNr + 1
	if !s.Tombstone() {
		defer func() {
			k.taken, k.by = s.SequenceNr, layout.Batch{}
			if s.Event != nil {
				k.by = s.Event.Batch
			}
		}()
	}
	switch {
	case s.Event == nil && s.Expires != 0:
		if err := k.batchOver(); err != nil {
			return err
		}
		return k.found(Hole, s.SequenceNr, nil, "a tombstone stands above the low mark %d", k.marks.Low.Seq)
	case s.Event == nil:
		k.live = true
		k.dead = k.dead || len(k.events) > 0 && s.SequenceNr <= k.batch.Last
		return nil
	}
	k.live = true
	if err := k.event(s.Event); err != nil {
		return err
	}
	return k.member(s.Event)
}

// below checks what stands below the low mark.
func (k *check) below(s layout.Slot) error {
	seq := s.SequenceNr
	switch {
	case s.Event != nil:
		entomb := func(ctx context.Context, m *dynamo.Meter) error {
			return k.Store.Entomb(ctx, m, k.pid, seq, k.TombstoneExpiry())
		}
		return k.found(OrphanBelowLowMark, seq, entomb, "the low mark is %d", k.marks.Low.Seq)
	case s.Expires != 0 && !k.TTL && s.Expires < k.Now():
		remove := func(ctx context.Context, m *dynamo.Meter) error {
			return k.Store.RemoveExpired(ctx, m, k.pid, seq, k.Now())
		}
		return k.found(ExpiredTombstone, seq, remove, "it expired %d seconds ago, and the table's TTL is off", k.Now()-s.Expires)
	}
	return nil
}

// event checks one event for itself, and its writer.
func (k *check) event(e *layout.Event) error {
	if err := k.Decode(e); err != nil {
		if err := k.found(Undecodable, e.SequenceNr, nil, "%v", err); err != nil {
			return err
		}
	}
	if e.WriterUUID == k.writer {
		return nil
	}
	if k.writer != "" {
		k.writers[k.writer] = true
	}
	before := k.writer
	k.writer = e.WriterUUID
	if !k.writers[e.WriterUUID] {
		return nil
	}
	return k.found(ForeignWriter, e.SequenceNr, nil, "writer %s goes on after writer %s has written", e.WriterUUID, before)
}

// member follows an atomic write.
func (k *check) member(e *layout.Event) error {
	if len(k.events) > 0 && e.Batch != k.batch {
		k.dead = k.dead || e.SequenceNr <= k.batch.Last
		if err := k.batchOver(); err != nil {
			return err
		}
	}
	if !e.Batch.IsBatch() {
		return nil
	}
	if len(k.events) == 0 {
		k.dead = k.dead && e.Batch == k.batch || k.taken >= k.first(e.Batch) && k.by != e.Batch ||
			e.Batch.Start < k.first(e.Batch) && !k.marks.Low.CutCompletes(e.Batch)
		k.batch = e.Batch
	}
	k.events = append(k.events, e)
	if e.SequenceNr == k.batch.Last {
		return k.batchOver()
	}
	return nil
}

// first is the first number at which a member of an atomic write has to stand: those below the low mark were deleted.
func (k *check) first(b layout.Batch) int64 { return max(b.Start, k.marks.Low.First()) }

// batchOver decides on the atomic write that was followed, now that no further member comes.
func (k *check) batchOver() error {
	events, b, dead := k.events, k.batch, k.dead
	k.events = nil
	if len(events) == 0 || !dead && int64(len(events)) == b.Last-k.first(b)+1 {
		return nil
	}
	var numbers []int64
	for _, e := range events {
		numbers = append(numbers, e.SequenceNr)
	}
	var repair func(context.Context, *dynamo.Meter) error
	if dead {
		repair = func(ctx context.Context, m *dynamo.Meter) error {
			// A deletion that cuts a whole atomic write looks the same to who knows the low mark of before. It puts the mark
			// first, so what is decided on a mark read afterwards is right.
			if marks, err := k.Store.LowMark(ctx, m, k.pid); err != nil || marks.Low.Seq != k.marks.Low.Seq {
				return err
			}
			for _, e := range events {
				if err := k.Store.SealMember(ctx, m, e); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return k.found(IncompleteBatch, b.Start, repair, "of the atomic write %d to %d by %s only %s are there", b.Start, b.Last, b.WriterUUID, spans(numbers))
}

// whole checks what concerns the persistence id as a whole.
func (k *check) whole(ctx context.Context) error {
	newest, err := k.NewestSnapshot(ctx, &k.meter, k.pid)
	if err != nil {
		return err
	}
	if newest > k.highest {
		if err := k.found(SnapshotBeyondJournal, newest, nil, "the journal ends at %d; the next recovery after the snapshot goes on after it", k.highest); err != nil {
			return err
		}
	}
	if !k.Native || !k.live && (k.marks.Low.Seq == 0 || k.marks.Expiring) {
		return k.pace(ctx)
	}
	listed, err := k.Store.Listed(ctx, &k.meter, k.pid)
	if err != nil {
		return err
	}
	if !listed {
		enter := func(ctx context.Context, m *dynamo.Meter) error { return k.Store.EnterID(ctx, m, k.pid, k.marks.Low) }
		if err := k.found(NotInIDsIndex, 1, enter, "neither its first event nor a low mark is in index %s", layout.NativeIDsIndex); err != nil {
			return err
		}
	}
	return k.pace(ctx)
}

// spans shows rising numbers as spans.
func spans(numbers []int64) string {
	const most = 10
	var parts []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if end > i {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[end]))
		} else {
			parts = append(parts, fmt.Sprint(numbers[i]))
		}
		i = end + 1
	}
	if len(parts) > most {
		parts = append(slices.Clone(parts[:most]), "…")
	}
	return strings.Join(parts, ",")
}

// Repair mends a finding. What cannot be repaired is an error.
func (f *Finding) Repair(ctx context.Context, m *dynamo.Meter) error {
	if f.repair == nil {
		return fmt.Errorf("%s of %q at %d can't be repaired", f.Kind, f.PersistenceID, f.SequenceNr) //nolint:err113 // a misuse
	}
	if err := f.repair(ctx, m); err != nil {
		return fmt.Errorf("repair %s of %q at %d: %w", f.Kind, f.PersistenceID, f.SequenceNr, err)
	}
	return nil
}
