package verify

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings. docs/operations.md describes their causes, their effect on readers, and
// their repairs.
const (
	// MissingHighMark: the highest sequence number needs a high mark that does not exist.
	MissingHighMark Kind = "missing-high-mark"
	// IncompleteBatch: members of an atomic write are missing, so no reader sees the others.
	IncompleteBatch Kind = "incomplete-batch"
	// Hole: nothing is stored at sequence numbers before stored ones, or there is a tombstone or a
	// fence above the low mark.
	Hole Kind = "hole"
	// OrphanBelowLowMark: an event is stored below the low mark.
	OrphanBelowLowMark Kind = "orphan-below-low-mark"
	// BelowJVMLowMark: in a shared journal items are stored below the low mark that a JVM reads, in
	// the block where it searches its highest sequence number.
	BelowJVMLowMark Kind = "below-jvm-low-mark"
	// ForeignWriter: a writer continues after another has written: two wrote at the same time, and
	// one may have overwritten events of the other.
	ForeignWriter Kind = "foreign-writer"
	// Undecodable: an item, or the payload of an event whose serializer is known, can't be read.
	Undecodable Kind = "undecodable"
	// UnknownItem: an item among the events is neither an event nor a tombstone, seal or fence, or
	// its number is outside of its partition.
	UnknownItem Kind = "unknown-item"
	// MarkBeyondEvents: a high mark is above the highest sequence number.
	MarkBeyondEvents Kind = "mark-beyond-events"
	// WrongShards: a mark is stored in the wrong shard, by a writer with another number of shards.
	WrongShards Kind = "wrong-shards"
	// SnapshotBeyondJournal: a snapshot contains events that the journal does not have.
	SnapshotBeyondJournal Kind = "snapshot-beyond-journal"
	// SnapshotMissing: events were deleted because a snapshot has their state, but that snapshot
	// and all later ones are missing.
	SnapshotMissing Kind = "snapshot-missing"
	// DamagedSnapshot: a stored snapshot can't be read: a part is missing or damaged.
	DamagedSnapshot Kind = "damaged-snapshot"
	// ExpiredTombstone: a tombstone has expired and is not removed, because the table's TTL is off.
	ExpiredTombstone Kind = "expired-tombstone"
	// NotInIDsIndex: the persistence id is not listed by the sparse ids index.
	NotInIDsIndex Kind = "not-in-ids-index"
	// Unchecked: the persistence id can't be checked or repaired. The others are.
	Unchecked Kind = "unchecked"
)

// Kinds returns all kinds of findings.
func Kinds() []Kind {
	return []Kind{
		MissingHighMark, IncompleteBatch, Hole, OrphanBelowLowMark, BelowJVMLowMark, ForeignWriter,
		Undecodable, UnknownItem, MarkBeyondEvents, WrongShards, SnapshotBeyondJournal, SnapshotMissing,
		DamagedSnapshot, ExpiredTombstone, NotInIDsIndex, Unchecked,
	}
}

// Option names a repair that is made only on request.
type Option string

// The options of a repair. They may remove the last copy of an acknowledged event, or change what
// readers see.
const (
	// RemoveOrphans replaces events below the low mark by tombstones.
	RemoveOrphans Option = "remove-orphans"
	// RemoveDeleted removes tombstones and seals below the low mark that a JVM reads, in the block
	// where it searches its highest number.
	RemoveDeleted Option = "remove-deleted"
	// RemoveIncomplete replaces members of atomic writes that can never become whole by seals.
	RemoveIncomplete Option = "remove-incomplete"
	// RestoreHighMark puts a high mark after a gap that hides everything after it from readers.
	RestoreHighMark Option = "restore-high-mark"
	// SealMissing seals numbers at which items were lost: readers continue without the events.
	SealMissing Option = "seal-missing"
)

// Finding is a fault in the stored items of a persistence id.
type Finding struct {
	PersistenceID string
	Kind          Kind
	Severity      Severity
	// SequenceNr is the sequence number of the finding, or the first of several.
	SequenceNr int64
	// Detail describes the finding.
	Detail string
	// Option is the option that a repair of the finding needs, or "".
	Option Option

	// repair repairs the finding, and reports whether it has changed anything. It is nil if the
	// finding can't be repaired.
	repair func(context.Context, *Mender) (bool, error)
}

// Repairable reports whether a repair exists, with or without an Option.
func (f *Finding) Repairable() bool { return f.repair != nil }

// Removed is an item that a repair is about to remove.
type Removed struct {
	PersistenceID string
	Kind          Kind
	SequenceNr    int64
	Item          layout.Attributes
}

// Mender repairs findings.
type Mender struct {
	Meter *dynamo.Meter
	// Archive stores an item before it is removed. If it fails, the item stays, and the repair
	// ends.
	Archive func(Removed) error
}

// Repair repairs a finding, and reports whether it has changed anything: the items may have changed
// since the check. A finding that can't be repaired is an error.
func (f *Finding) Repair(ctx context.Context, m *Mender) (bool, error) {
	if f.repair == nil {
		//nolint:err113 // a misuse
		return false, fmt.Errorf("%s of %q at %d can't be repaired", f.Kind, f.PersistenceID, f.SequenceNr)
	}
	changed, err := f.repair(ctx, m)
	if err != nil {
		return changed, fmt.Errorf("repair %s of %q at %d: %w", f.Kind, f.PersistenceID, f.SequenceNr, err)
	}
	return changed, nil
}

// archive stores an item in the caller's archive before it is removed.
func (m *Mender) archive(r Removed) error {
	if err := m.Archive(r); err != nil {
		return fmt.Errorf("archive the item of number %d: %w", r.SequenceNr, err)
	}
	return nil
}
