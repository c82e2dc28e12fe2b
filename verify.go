package dynajournal

import (
	"context"
	"encoding/json"
	"iter"
)

// FindingKind names what is wrong with stored data.
type FindingKind string

// The kinds of findings. docs/operations.md describes the cause of each, what readers see, and what
// a repair does.
const (
	// FindingMissingHighMark: the high mark that the highest sequence number needs is missing.
	FindingMissingHighMark FindingKind = "missing-high-mark"
	// FindingIncompleteBatch: events of an atomic write are missing, so that readers get none of
	// the others.
	FindingIncompleteBatch FindingKind = "incomplete-batch"
	// FindingHole: nothing is stored at sequence numbers below the highest, or a tombstone is
	// stored above the low mark.
	FindingHole FindingKind = "hole"
	// FindingOrphanBelowLowMark: an event is stored below the low mark.
	FindingOrphanBelowLowMark FindingKind = "orphan-below-low-mark"
	// FindingBelowJVMLowMark: in a shared journal, items are stored below the low mark that a JVM
	// reads, in the block in which the JVM looks for the highest sequence number.
	FindingBelowJVMLowMark FindingKind = "below-jvm-low-mark"
	// FindingForeignWriter: events of two writers alternate. Both wrote at the same time, and one
	// may have overwritten events of the other.
	FindingForeignWriter FindingKind = "foreign-writer"
	// FindingUndecodable: an item can't be read, or the payload of an event or snapshot can't be
	// decoded although its serializer is registered.
	FindingUndecodable FindingKind = "undecodable"
	// FindingUnknownItem: an item among the events is no event, tombstone, seal or fence, or its
	// number does not belong to its partition.
	FindingUnknownItem FindingKind = "unknown-item"
	// FindingMarkBeyondEvents: a high mark is above the highest sequence number.
	FindingMarkBeyondEvents FindingKind = "mark-beyond-events"
	// FindingWrongShards: a mark is stored in a shard to which it does not belong. A process writes
	// with another number of shards.
	FindingWrongShards FindingKind = "wrong-shards"
	// FindingSnapshotBeyondJournal: a snapshot contains events that the journal does not have.
	FindingSnapshotBeyondJournal FindingKind = "snapshot-beyond-journal"
	// FindingDamagedSnapshot: a snapshot is stored, and an item of it is missing or damaged.
	FindingDamagedSnapshot FindingKind = "damaged-snapshot"
	// FindingExpiredTombstone: a tombstone has expired, and is not removed, as the table's TTL is
	// off.
	FindingExpiredTombstone FindingKind = "expired-tombstone"
	// FindingNotInIDsIndex: the index of persistence ids of a native journal does not list the id.
	FindingNotInIDsIndex FindingKind = "not-in-ids-index"
	// FindingUnchecked: VerifyAll or RepairAll could not check or repair the persistence id.
	FindingUnchecked FindingKind = "unchecked"
)

// Finding is something in the stored data that is not as it should be.
type Finding struct {
	PersistenceID string
	Kind          FindingKind
	// SequenceNumber is where it was found, the first of several.
	SequenceNumber int64
	// Detail says in words what was found.
	Detail string
	// Repairable reports whether Repair mends it with the options given, Repaired whether it has.
	Repairable, Repaired bool
	// Option is the field of VerifyOptions that Repair needs before it mends the finding; empty
	// where it needs none, or where nothing can be mended.
	Option RepairOption
}

// RepairOption names a repair that is only made if the caller asks for it. Its text is the name of
// the flag of `dynajournal repair`.
type RepairOption string

// The options of a repair. VerifyOptions has a field for each.
const (
	// OptionRemoveOrphans is VerifyOptions.RemoveOrphans.
	OptionRemoveOrphans RepairOption = "remove-orphans"
	// OptionRemoveDeleted is VerifyOptions.RemoveDeleted.
	OptionRemoveDeleted RepairOption = "remove-deleted"
	// OptionRemoveIncomplete is VerifyOptions.RemoveIncomplete.
	OptionRemoveIncomplete RepairOption = "remove-incomplete"
	// OptionRestoreHighMark is VerifyOptions.RestoreHighMark.
	OptionRestoreHighMark RepairOption = "restore-high-mark"
)

// RemovedItem is an item that Repair takes away: what it gives to VerifyOptions.Archive.
type RemovedItem struct {
	PersistenceID  string
	Kind           FindingKind
	SequenceNumber int64
	Table          string
	// Item is the whole item in DynamoDB's JSON, as `aws dynamodb put-item` takes it.
	Item json.RawMessage
}

// VerifyOptions say how to verify or repair. The zero value takes all the capacity it gets, and
// repairs only what no reader can ever show and nobody was told is stored.
type VerifyOptions struct {
	// ReadUnitsPerSecond bounds the read capacity used up, on average; 0 is no bound.
	ReadUnitsPerSecond float64
	// Parallelism is how many persistence ids VerifyAll and RepairAll check at the same time; 0 is
	// Config.ReplayParallelism.
	Parallelism int
	// Progress is called after each persistence id that VerifyAll or RepairAll has checked, if set,
	// one call at a time.
	Progress func(persistenceID string)
	// DryRun makes a repair change nothing: it only says what it would repair.
	DryRun bool

	// RemoveOrphans makes a repair turn events below the low mark into tombstones. Make sure that
	// the low mark is right: what is below it may be events that somebody was told are stored.
	RemoveOrphans bool
	// RemoveDeleted makes a repair remove, in a journal that is shared with a JVM, what deletions
	// of earlier versions have left where the JVM looks for its highest number. The entity must be
	// stopped on both sides.
	RemoveDeleted bool
	// RemoveIncomplete makes a repair turn members of atomic writes that can never become whole
	// into seals. They may be what is left of an atomic write that was acknowledged, and of which
	// another writer overwrote a part.
	RemoveIncomplete bool
	// RestoreHighMark makes a repair put a high mark where a gap and its absence hide events from
	// readers: these see them again.
	RestoreHighMark bool
	// Archive is called with each item before it is taken away, one call at a time. An error of it
	// ends the repair, and leaves the item. The options that remove need it. An item that has
	// changed since stays, though it was archived.
	Archive func(RemovedItem) error
}

// asked reports whether a repair that needs an option is to be made.
func (o *VerifyOptions) asked(option RepairOption) bool {
	switch option {
	case "":
		return true
	case OptionRemoveOrphans:
		return o.RemoveOrphans
	case OptionRemoveDeleted:
		return o.RemoveDeleted
	case OptionRemoveIncomplete:
		return o.RemoveIncomplete
	case OptionRestoreHighMark:
		return o.RestoreHighMark
	}
	return false
}

func (o VerifyOptions) check() error {
	if o.ReadUnitsPerSecond < 0 {
		return &ArgumentError{"VerifyOptions.ReadUnitsPerSecond", o.ReadUnitsPerSecond, mustNotBeNegative}
	}
	if o.Parallelism < 0 {
		return &ArgumentError{"VerifyOptions.Parallelism", o.Parallelism, mustNotBeNegative}
	}
	if (o.RemoveOrphans || o.RemoveDeleted || o.RemoveIncomplete) && o.Archive == nil && !o.DryRun {
		return &ArgumentError{"VerifyOptions.Archive", nil, "what is removed has to be archived first"}
	}
	return nil
}

// Verify checks everything that is stored for a persistence id, and returns what is not as it
// should be. It needs no writer and changes nothing. What is being written meanwhile can look like
// damage: check again before believing it.
func (j *Journal) Verify(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	opts.DryRun = true
	return j.findings(ctx, opts, oneID(persistenceID), false)
}

// VerifyAll checks every persistence id of the journal, several at the same time, in no order; it
// finds them by a scan. One that can't be checked is a FindingUnchecked.
func (j *Journal) VerifyAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	opts.DryRun = true
	return j.findings(ctx, opts, j.allIDs(ctx), true)
}

// Repair checks a persistence id as Verify does, and mends what no reader can ever show and nobody
// was told is stored: missing high marks that readers do without, expired tombstones where the
// table's TTL is off, missing entries in the ids index. All else needs an option. It returns every
// finding once, repeats its check until there is nothing left that it mends, and returns what is
// left last. Writers need not be stopped, but for an option in a journal that is shared with a JVM.
func (j *Journal) Repair(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, oneID(persistenceID), false)
}

// RepairAll repairs every persistence id of the journal, as VerifyAll checks them. One that can be
// read but not written, as its keys would not fit some day, is a FindingUnchecked.
func (j *Journal) RepairAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, j.allIDs(ctx), true)
}

func oneID(pid string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(pid, nil) }
}

func (j *Journal) allIDs(ctx context.Context) iter.Seq2[string, error] {
	return j.CurrentPersistenceIDs(ctx, IDsOptions{Scan: true})
}
