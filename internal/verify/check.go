// Package verify reads the items of a persistence id, reports what is wrong with them, and repairs
// it.
//
// A repair without options changes only items that no reader can ever see and that were never
// acknowledged: a high mark that readers do without, expired tombstones, entries of the ids index.
// No stored item proves that an atomic write was never acknowledged (a member may have been lost or
// overwritten since), nor that an event below the low mark was deleted (the mark may be wrong).
// Removing these needs an Option each, and removed items are archived first.
package verify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Checker checks persistence ids of one journal.
type Checker struct {
	Store *protocol.Store
	// TTL reports whether expired items are removed by DynamoDB.
	TTL bool
	// Now returns the time in seconds since 1970.
	Now func() int64
	// TombstoneExpiry returns the expiry of a tombstone that is put now, or an error if the clock
	// is off.
	TombstoneExpiry func() (int64, error)
	// Decode returns an error if a payload can't be decoded. A payload with an unknown serializer
	// is not an error.
	Decode func(*layout.Event) error
	// Snapshots calls each with the sequence number of each snapshot, the highest first, and the
	// error if the snapshot can't be read.
	Snapshots func(ctx context.Context, m *dynamo.Meter, pid string, each func(seq int64, damage error) error) error
	// Paced is called after each request with the read units that it has consumed, to limit the
	// rate. It may wait.
	Paced func(ctx context.Context, units float64) error
}

// readAhead is the number of empty partitions in a row that end the search for items after the
// highest sequence number.
const readAhead = 2

// Check calls report with every finding of a persistence id. It stops at the first error of report,
// and returns it. It keeps one page of a partition and one snapshot in memory. Concurrent writes
// can look like damage: an atomic write in progress is incomplete.
func (c *Checker) Check(ctx context.Context, pid string, report func(Finding) error) error {
	k := &check{Checker: c, pid: pid, report: report, writers: map[string]bool{}, trusted: true}
	if err := k.marksOf(ctx); err != nil {
		return err
	}
	last := max(k.highest, 0) / layout.PartitionSize
	read := func(p int64) (bool, error) { return k.partition(ctx, p) }
	if err := k.Store.EachExisting(ctx, &k.meter, pid, k.marks, 0, last, read); err != nil {
		return err
	}
	for p, empty := last+1, 0; empty < readAhead && p <= lastPartition; p++ {
		filled, err := read(p)
		if err != nil {
			return err
		}
		if empty++; filled {
			empty = 0
		}
	}
	// The last write has left these holes: it is in flight, or was interrupted.
	if err := k.undecided(ctx, LeftOver); err != nil {
		return err
	}
	if err := k.batchesOver(ctx, k.batches.rest()); err != nil {
		return err
	}
	return k.whole(ctx)
}

// lastPartition is the partition of the largest sequence number.
const lastPartition = math.MaxInt64 / layout.PartitionSize

// check is the check of one persistence id.
type check struct {
	*Checker
	pid    string
	report func(Finding) error
	meter  dynamo.Meter
	paid   float64
	marks  layout.Marks
	// trusted reports that all marks can be read, and are stored where they belong. If not, a
	// repair changes nothing that is judged by them.
	trusted bool
	// highest is the highest sequence number as a recovery finds it. If it can't be found, it is
	// the highest number that the marks name.
	highest int64
	legible bool  // the item at the highest sequence number can be read
	stored  int64 // the highest number at or above the low mark with an item
	// purged is the last number of the purged lives, even if the purge was interrupted.
	purged int64

	want    int64           // the next number expected
	live    bool            // something counts for the ids index
	holes   []span          // missing numbers about which nothing has decided yet
	writers map[string]bool // writers that were followed by another
	writer  string          // the writer of the last event
	batches batches
	// cut is the last tombstone above the low mark that names the atomic write that was cut.
	cut  layout.Slot
	left []itemBelow // items that a JVM no longer removes
}

// found reports a finding. If the marks can't be trusted, the finding can't be repaired.
func (k *check) found(f Finding) error {
	f.PersistenceID = k.pid
	if f.Severity == "" {
		f.Severity = k.severity(&f)
	}
	if !k.trusted {
		f.Option, f.repair = "", nil
	}
	return k.report(f)
}

func (k *check) foundf(kind Kind, seq int64, format string, args ...any) error {
	return k.found(Finding{Kind: kind, SequenceNr: seq, Detail: fmt.Sprintf(format, args...)})
}

// pace reports the read units that were consumed since the last call.
func (k *check) pace(ctx context.Context) error {
	units := k.meter.Cost().ReadUnits
	defer func() { k.paid = units }()
	if k.Paced == nil {
		return nil
	}
	return k.Paced(ctx, units-k.paid)
}

// marksOf reads the marks, including those in shards that should not exist, up to the default
// number of shards.
func (k *check) marksOf(ctx context.Context) error {
	items, err := k.readMarks(ctx)
	if err != nil {
		return err
	}
	if k.marks, err = k.Store.DecodeMarks(k.pid, items); err != nil {
		return err
	}
	k.want, k.purged = k.marks.Low.First(), k.marks.Low.Purged
	if k.highest, err = k.Store.Highest(ctx, &k.meter, k.pid, k.marks); err != nil {
		if item := new(layout.ItemError); !errors.As(err, &item) {
			return err
		}
		k.highest = max(k.marks.High, k.marks.Low.Seq-1)
		return k.pace(ctx) // the item is found again in its partition
	}
	k.legible = true
	if need := layout.HighestBlock(k.highest); need > k.Store.Leads(k.marks) {
		put, err := k.markedSince(ctx, need)
		if err != nil {
			return err
		}
		if put {
			return k.pace(ctx)
		}
		f := Finding{Kind: MissingHighMark, SequenceNr: need}
		f.Detail = fmt.Sprintf("the highest sequence number is %d, the high mark %d", k.highest, k.marks.High)
		f.repair = func(ctx context.Context, m *Mender) (bool, error) { return k.raiseHighMark(ctx, m, k.highest) }
		if err := k.found(f); err != nil {
			return err
		}
	}
	if k.marks.High > k.highest {
		written, err := k.writtenSince(ctx, k.marks.High)
		if err != nil {
			return err
		}
		if written {
			return k.pace(ctx)
		}
		if err := k.foundf(MarkBeyondEvents, k.marks.High, "the highest sequence number is %d, the high mark %d",
			k.highest, k.marks.High); err != nil {
			return err
		}
	}
	return k.pace(ctx)
}

func (k *check) raiseHighMark(ctx context.Context, m *Mender, seq int64) (bool, error) {
	return true, k.Store.RaiseHighMark(ctx, m.Meter, k.pid, seq, nil)
}

// readMarks returns the items of the marks that count. It reports marks that can't be read or are
// stored in the wrong place.
func (k *check) readMarks(ctx context.Context) ([]layout.Attributes, error) {
	wide := k.Store.Keys
	wide.Shards = max(wide.Shards, layout.DefaultShards)
	var wanted []dynamo.Attributes
	for _, key := range append(wide.HighMarks(k.pid), wide.LowMarks(k.pid)...) {
		wanted = append(wanted, key.Attributes())
	}
	own := map[string]bool{}
	for _, key := range append(k.Store.Keys.HighMarks(k.pid), k.Store.Keys.LowMarks(k.pid)...) {
		own[key.Par] = true
	}
	items, err := k.Store.Client.BatchGet(ctx, &k.meter, k.Store.Table, wanted)
	if err != nil {
		return nil, err
	}
	var right []layout.Attributes
	var findings []Finding
	for _, item := range items {
		key, seq, err := layout.DecodeMark(item)
		var mark layout.Marks
		if err == nil {
			mark, err = k.Store.DecodeMarks(k.pid, []layout.Attributes{item})
		}
		if err != nil {
			if err = k.itemFound(err, 0, &findings); err != nil {
				return nil, err
			}
			continue
		}
		if own[key.Par] {
			right = append(right, item)
		}
		where := k.Store.Keys.HighMark(k.pid, seq)
		if strings.HasPrefix(key.Par, k.Store.Keys.Journal+"-SL-") {
			where, seq = k.Store.Keys.LowMarkItem(k.pid, mark.Low), max(seq, mark.Low.Seq)
		}
		if where != key {
			detail := fmt.Sprintf("the mark at par=%q belongs to par=%q with %d shards",
				key.Par, where.Par, k.Store.Keys.Shards)
			findings = append(findings, Finding{Kind: WrongShards, SequenceNr: seq, Detail: detail})
		}
	}
	k.trusted = len(findings) == 0
	for _, f := range findings {
		if err := k.found(f); err != nil {
			return nil, err
		}
	}
	return right, nil
}

// itemFound adds a finding of an item that can't be read. It returns other errors.
func (k *check) itemFound(err error, seq int64, findings *[]Finding) error {
	item := new(layout.ItemError)
	if !errors.As(err, &item) {
		return err
	}
	*findings = append(*findings, Finding{Kind: Undecodable, SequenceNr: seq, Detail: item.Error()})
	return nil
}

// partition checks every item of a partition, and reports whether the partition has an event,
// tombstone or seal.
func (k *check) partition(ctx context.Context, p int64) (bool, error) {
	filled := false
	err := k.Store.EachStored(ctx, &k.meter, k.pid, p, func(item layout.Attributes) error {
		if where := outside(p, item); where != "" {
			seq := p * layout.PartitionSize
			return k.foundf(UnknownItem, seq, "the item at par=%q num=%s: no reader asks for it",
				k.Store.Keys.Partition(k.pid, p), where)
		}
		filled = true
		slot, err := k.Store.Keys.DecodeSlot(k.pid, p, item)
		if err != nil {
			return k.illegible(ctx, numberOf(p, item), err)
		}
		return k.slot(ctx, slot, item)
	})
	if err != nil {
		return filled, err
	}
	return filled, k.pace(ctx)
}

// outside returns the number of an item that no reader asks for, or "" if readers ask for it.
func outside(p int64, item layout.Attributes) string {
	at := numInPartition(item)
	if at < 0 || at > layout.PartitionSize-1 || p == 0 && at < 1 {
		return item[layout.AttrNum].(*types.AttributeValueMemberN).Value //nolint:forcetypeassert // the type of a key
	}
	return ""
}

// numberOf returns the sequence number of an item by its key, rounded down.
func numberOf(p int64, item layout.Attributes) int64 {
	return p*layout.PartitionSize + int64(numInPartition(item))
}

// numInPartition returns the range key of an item, which may be fractional.
func numInPartition(item layout.Attributes) float64 {
	n, ok := item[layout.AttrNum].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	at, _ := strconv.ParseFloat(n.Value, 64) // DynamoDB stores nothing else
	return at
}

// illegible checks an item that can't be read. Only its number is known to be taken.
func (k *check) illegible(ctx context.Context, seq int64, err error) error {
	var findings []Finding
	if err := k.itemFound(err, seq, &findings); err != nil {
		return err
	}
	if seq >= k.marks.Low.First() {
		err := k.holeBefore(ctx, seq, layout.Slot{})
		if err == nil {
			err = k.undecided(ctx, Damage)
		}
		if err != nil {
			return err
		}
		k.live = true
		k.batches.illegible(seq)
	} else {
		findings[0].Detail += fmt.Sprintf("; it is below the low mark %d, so no replay reads it", k.marks.Low.Seq)
	}
	return k.found(findings[0])
}

// holeBefore records the missing numbers before seq, and continues after seq. slot is the slot at
// seq, or zero if the item can't be read.
func (k *check) holeBefore(ctx context.Context, seq int64, slot layout.Slot) error {
	hole := span{k.want, seq - 1}
	k.want, k.stored = max(k.want, seq+1), seq
	if hole.first <= hole.last {
		if err := k.missing(ctx, hole); err != nil {
			return err
		}
	}
	if err := k.judgeHoles(ctx, &slot); err != nil {
		return err
	}
	return k.batchesOver(ctx, k.batches.reached(seq))
}

func (k *check) slot(ctx context.Context, s layout.Slot, item layout.Attributes) error {
	if s.Event == nil && !layout.IsClosed(item) {
		const detail = "it is neither an event nor a tombstone or seal; readers take its number for a sealed or deleted one"
		if err := k.foundf(UnknownItem, s.SequenceNr, detail); err != nil {
			return err
		}
	}
	k.belowJVM(s, item)
	if s.SequenceNr < k.marks.Low.First() {
		return k.below(s, item)
	}
	if err := k.holeBefore(ctx, s.SequenceNr, s); err != nil {
		return err
	}
	if s.Tombstone() && !k.Store.Shared() {
		return k.taken(s)
	}
	raises, err := k.Store.RaisesLowMark(ctx, &k.meter, k.pid, s, k.marks)
	if unreadable := new(layout.ItemError); errors.As(err, &unreadable) {
		return k.foundf(Hole, s.SequenceNr, "a fence is stored above the low mark %d; whether the next recovery raises that to %d "+
			"depends on an item that can't be read", k.marks.Low.Seq, s.Low)
	}
	if err != nil {
		return err
	}
	if raises {
		return k.raises(s)
	}
	k.live = true
	if s.Event == nil {
		k.batches.closed(s.SequenceNr)
		return nil
	}
	if err := k.event(s.Event); err != nil {
		return err
	}
	batch := s.Event.Batch
	if batch.IsBatch() {
		first := k.first(batch)
		cut := batch.Start < first && batch != k.cut.Cut() && !k.marks.Low.CutCompletes(batch)
		k.batches.member(s.SequenceNr, batch, first, cut)
	} else {
		k.batches.closed(s.SequenceNr)
	}
	// In a native journal a member counts for its writer only with all others: a writer that was
	// refused has not written.
	if batch.IsBatch() && !k.Store.Shared() {
		return nil
	}
	return k.writtenBy(s.Event.WriterUUID, s.SequenceNr)
}

// taken reports a tombstone above the low mark of a native journal. A purge by an earlier version
// has left it, and the low mark of that purge has expired.
func (k *check) taken(s layout.Slot) error {
	k.batches.closed(s.SequenceNr)
	const detail = "a tombstone is stored above the low mark %d, which a purge by an earlier version has left; " +
		"the next recovery replaces it by a seal"
	return k.foundf(Hole, s.SequenceNr, detail, k.marks.Low.Seq)
}

// raises reports a slot over which the next recovery raises the low mark.
func (k *check) raises(s layout.Slot) error {
	if s.Purges {
		// The numbers below it are purged, even if some of them are missing.
		k.purged, k.want = s.Low-1, max(k.want, s.Low)
		return k.found(Finding{
			Kind: Hole, SequenceNr: s.SequenceNr, Severity: LeftOver,
			Detail: fmt.Sprintf("a purge of the numbers up to %d was interrupted; the next recovery or purge completes it", k.purged),
		})
	}
	k.live = k.live || s.Seal()
	if s.Cut().IsBatch() {
		k.cut = s
	}
	detail := "a tombstone or fence is stored above the low mark %d; the next recovery raises that to %d"
	return k.foundf(Hole, s.SequenceNr, detail, k.marks.Low.Seq, max(s.SequenceNr+1, s.Low))
}

// below checks an item below the low mark.
func (k *check) below(s layout.Slot, item layout.Attributes) error {
	seq := s.SequenceNr
	switch {
	case s.Event != nil:
		f := Finding{
			Kind: OrphanBelowLowMark, SequenceNr: seq, Option: RemoveOrphans,
			Detail: fmt.Sprintf("the low mark is %d; no reader sees it", k.marks.Low.Seq),
			repair: func(ctx context.Context, m *Mender) (bool, error) { return k.entomb(ctx, m, seq, item) },
		}
		if seq >= k.marks.Low.Removed {
			f.Severity = LeftOver
			f.Detail += "; an interrupted deletion or purge has left it, and the next one removes it"
		}
		return k.found(f)
	case s.Expires != 0:
		return k.expired(s)
	}
	return nil
}

// expired reports a tombstone that has expired and that nothing removes.
func (k *check) expired(s layout.Slot) error {
	if k.TTL || s.Expires >= k.Now() {
		return nil
	}
	return k.found(Finding{
		Kind: ExpiredTombstone, SequenceNr: s.SequenceNr,
		Detail: fmt.Sprintf("it expired %d seconds ago, and the table's TTL is off", k.Now()-s.Expires),
		repair: func(ctx context.Context, m *Mender) (bool, error) {
			return k.Store.RemoveExpired(ctx, m.Meter, k.pid, s.SequenceNr, k.Now())
		},
	})
}

// entomb replaces an event below the low mark by a tombstone. In a shared journal the highest
// number becomes a seal, as in a deletion: a JVM finds its highest number by that item, and a
// tombstone expires.
func (k *check) entomb(ctx context.Context, m *Mender, seq int64, item layout.Attributes) (bool, error) {
	marks, err := k.Store.LowMark(ctx, m.Meter, k.pid)
	if err != nil || marks.Low.Seq <= seq { // the persistence id was purged, and is in use again
		return false, err
	}
	expires, err := k.TombstoneExpiry()
	if err != nil {
		return false, err
	}
	if err := m.archive(Removed{k.pid, OrphanBelowLowMark, seq, item}); err != nil {
		return false, err
	}
	if k.Store.Shared() && seq == k.highest {
		return k.Store.ReplaceWithSeal(ctx, m.Meter, k.pid, seq, item)
	}
	return k.Store.ReplaceWithTombstone(ctx, m.Meter, k.pid, seq, expires, item)
}

// event checks the payload of an event.
func (k *check) event(e *layout.Event) error {
	if err := k.Decode(e); err != nil {
		return k.foundf(Undecodable, e.SequenceNr, "%v", err)
	}
	return nil
}

// writtenBy records the writer of the events from a number on. It reports a writer that continues
// after another has written.
func (k *check) writtenBy(writer string, seq int64) error {
	if writer == k.writer {
		return nil
	}
	if k.writer != "" {
		k.writers[k.writer] = true
	}
	before := k.writer
	k.writer = writer
	if !k.writers[writer] {
		return nil
	}
	return k.foundf(ForeignWriter, seq, "writer %s continues after writer %s has written", writer, before)
}

// whole checks the persistence id as a whole.
func (k *check) whole(ctx context.Context) error {
	if err := k.hiddenTail(ctx); err != nil {
		return err
	}
	if err := k.leftBelowJVM(); err != nil {
		return err
	}
	if err := k.snapshots(ctx); err != nil {
		return err
	}
	if k.Store.Shared() || !k.live && k.marks.Low.Unused() {
		return k.pace(ctx)
	}
	listed, err := k.Store.Listed(ctx, &k.meter, k.pid, k.marks.Low)
	if err != nil {
		return err
	}
	if !listed {
		if err := k.found(Finding{
			Kind: NotInIDsIndex, SequenceNr: k.marks.Low.Purged + 1,
			Detail: "neither its first event nor a low mark is in index " + layout.NativeIDsIndex,
			repair: func(ctx context.Context, m *Mender) (bool, error) {
				return k.Store.EnterID(ctx, m.Meter, k.pid, k.marks.Low)
			},
		}); err != nil {
			return err
		}
	}
	return k.pace(ctx)
}

// hiddenTail reports items after the highest number that a recovery finds. A high mark would make
// them visible again.
func (k *check) hiddenTail(ctx context.Context) error {
	if !k.legible || k.stored <= k.highest {
		return nil
	}
	if written, err := k.writtenSince(ctx, k.stored); err != nil || written {
		return err
	}
	need := layout.HighestBlock(k.stored)
	return k.found(Finding{
		Kind: MissingHighMark, SequenceNr: need, Option: RestoreHighMark,
		Detail: fmt.Sprintf("items are stored up to %d, and the high mark is %d: readers stop at %d", k.stored,
			k.marks.High, k.highest),
		repair: func(ctx context.Context, m *Mender) (bool, error) { return k.raiseHighMark(ctx, m, k.stored) },
	})
}

// snapshots checks that every snapshot can be read, that the newest one is not newer than the
// journal, and that it contains the events that were deleted because of it. Snapshots of purged
// lives do not count: nothing reads them, and the next purge removes them.
func (k *check) snapshots(ctx context.Context) error {
	newest := int64(0)
	err := k.Snapshots(ctx, &k.meter, k.pid, func(seq int64, damage error) error {
		if seq <= k.purged {
			return k.pace(ctx)
		}
		newest = max(newest, seq)
		if damage == nil {
			return k.pace(ctx)
		}
		return k.foundf(DamagedSnapshot, seq, "%v", damage)
	})
	if behind := k.marks.Low.Behind; err == nil && newest < behind && behind > k.purged {
		err = k.snapshotMissing(ctx, newest)
	}
	highest := max(k.highest, k.stored)
	if err != nil || newest <= highest {
		return err
	}
	if k.legible && k.trusted { // events may have been written since the check began
		now, err := k.end(ctx)
		if err != nil {
			return err
		}
		if highest = max(highest, now); newest <= highest {
			return nil
		}
	}
	if highest == 0 && k.Store.Shared() {
		return k.foundf(SnapshotBeyondJournal, newest,
			"nothing is left of the journal; the next recovery after the snapshot continues after it")
	}
	return k.foundf(SnapshotBeyondJournal, newest,
		"the journal ends at %d: restore it to the time of the snapshot, or delete the snapshots after %d",
		highest, highest)
}

// snapshotMissing reports that the newest snapshot does not contain all deleted events, unless the
// persistence id was purged since the check began.
func (k *check) snapshotMissing(ctx context.Context, newest int64) error {
	now, err := k.Store.LowMark(ctx, &k.meter, k.pid)
	behind := k.marks.Low.Behind
	if err != nil || now.Low.Behind < behind {
		return err
	}
	found := "no snapshot was found"
	if newest > 0 {
		found = fmt.Sprintf("the newest snapshot is at %d", newest)
	}
	return k.foundf(SnapshotMissing, behind,
		"the events up to %d were deleted because a snapshot has their state, but %s", behind, found)
}

// markedSince reports whether a high mark is stored now that was missing when the marks were read.
func (k *check) markedSince(ctx context.Context, seq int64) (bool, error) {
	now, err := k.Store.Marks(ctx, &k.meter, k.pid)
	if item := new(layout.ItemError); errors.As(err, &item) {
		return false, nil // it is reported
	}
	return now.High >= seq, err
}

// writtenSince reports whether a recovery now finds a number, because events were written since the
// check began.
func (k *check) writtenSince(ctx context.Context, seq int64) (bool, error) {
	now, err := k.end(ctx)
	if item := new(layout.ItemError); errors.As(err, &item) {
		return false, nil // it is found again in its partition
	}
	return now >= seq, err
}

// end returns the current highest sequence number.
func (k *check) end(ctx context.Context) (int64, error) {
	marks, err := k.Store.Marks(ctx, &k.meter, k.pid)
	if err != nil {
		return 0, err
	}
	return k.Store.Highest(ctx, &k.meter, k.pid, marks)
}
