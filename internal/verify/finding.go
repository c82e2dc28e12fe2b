package verify

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Kind names what is wrong.
type Kind string

// The kinds of findings. docs/operations.md says of each what makes it, what a reader sees, and
// what a repair does.
const (
	// MissingHighMark: the highest sequence number needs a high mark that does not exist.
	MissingHighMark Kind = "missing-high-mark"
	// IncompleteBatch: members of an atomic write are missing, so no reader sees the others.
	IncompleteBatch Kind = "incomplete-batch"
	// Hole: nothing is stored at sequence numbers with something behind them, or a tombstone above
	// the low mark.
	Hole Kind = "hole"
	// OrphanBelowLowMark: an event is stored below the low mark.
	OrphanBelowLowMark Kind = "orphan-below-low-mark"
	// BelowJVMLowMark: in a shared journal items are stored below the low mark that a JVM reads, in
	// the block of the highest sequence number, where it looks for that.
	BelowJVMLowMark Kind = "below-jvm-low-mark"
	// ForeignWriter: a writer goes on after another has written: two wrote at the same time, and
	// one may have overwritten events of the other.
	ForeignWriter Kind = "foreign-writer"
	// Undecodable: an item, or the payload of an event whose serializer is known, can't be read.
	Undecodable Kind = "undecodable"
	// UnknownItem: an item among the events that is neither an event nor a tombstone, seal or
	// fence, or whose number lies outside its partition.
	UnknownItem Kind = "unknown-item"
	// MarkBeyondEvents: a high mark lies behind the highest sequence number.
	MarkBeyondEvents Kind = "mark-beyond-events"
	// WrongShards: a mark is stored in a shard where it does not belong: somebody writes with
	// another number of shards.
	WrongShards Kind = "wrong-shards"
	// SnapshotBeyondJournal: a snapshot contains events that the journal does not have.
	SnapshotBeyondJournal Kind = "snapshot-beyond-journal"
	// DamagedSnapshot: a snapshot is stored and can't be read: a part is missing or damaged.
	DamagedSnapshot Kind = "damaged-snapshot"
	// ExpiredTombstone: a tombstone has expired and nothing removes it, as the table's TTL is off.
	ExpiredTombstone Kind = "expired-tombstone"
	// NotInIDsIndex: the persistence id is not listed by the sparse ids index.
	NotInIDsIndex Kind = "not-in-ids-index"
	// Unchecked: the persistence id can't be checked or repaired, and the others are.
	Unchecked Kind = "unchecked"
)

// Kinds are all kinds of findings.
func Kinds() []Kind {
	return []Kind{
		MissingHighMark, IncompleteBatch, Hole, OrphanBelowLowMark, BelowJVMLowMark, ForeignWriter, Undecodable, UnknownItem,
		MarkBeyondEvents, WrongShards, SnapshotBeyondJournal, DamagedSnapshot, ExpiredTombstone, NotInIDsIndex, Unchecked,
	}
}

// Option names a repair that is made only if it is asked for.
type Option string

// The options of a repair. What they take away may be the last copy of an event that somebody was
// told is stored, or they change what readers see.
const (
	// RemoveOrphans turns events below the low mark into tombstones.
	RemoveOrphans Option = "remove-orphans"
	// RemoveDeleted removes tombstones and seals below the low mark that a JVM reads, where it looks
	// for its highest number.
	RemoveDeleted Option = "remove-deleted"
	// RemoveIncomplete turns members of atomic writes that can never become whole into seals.
	RemoveIncomplete Option = "remove-incomplete"
	// RestoreHighMark puts a high mark over a gap that hides everything behind it from readers.
	RestoreHighMark Option = "restore-high-mark"
)

// Finding is something that is not as it should be.
type Finding struct {
	PersistenceID string
	Kind          Kind
	// SequenceNr is where it was found, the first of several.
	SequenceNr int64
	// Detail says what was found, in words.
	Detail string
	// Option is what a repair has to be told before it mends the finding; empty if it does so
	// unasked.
	Option Option

	// repair mends it, and reports whether it has changed anything; nil where nothing can.
	repair func(context.Context, *Mender) (bool, error)
}

// Repairable reports whether a repair mends the finding at all: unasked, or if its Option is given.
func (f *Finding) Repairable() bool { return f.repair != nil }

// Removed is an item that a repair is going to take away.
type Removed struct {
	PersistenceID string
	Kind          Kind
	SequenceNr    int64
	Item          layout.Attributes
}

// Mender mends findings.
type Mender struct {
	Meter *dynamo.Meter
	// Archive keeps an item before it is taken away. Its error leaves the item where it is, and
	// ends the repair.
	Archive func(Removed) error
}

// Repair mends a finding, and reports whether it has changed anything: what was judged may have
// changed since. A finding that can't be repaired is an error.
func (f *Finding) Repair(ctx context.Context, m *Mender) (bool, error) {
	if f.repair == nil {
		return false, fmt.Errorf("%s of %q at %d can't be repaired", f.Kind, f.PersistenceID, f.SequenceNr) //nolint:err113 // a misuse
	}
	changed, err := f.repair(ctx, m)
	if err != nil {
		return changed, fmt.Errorf("repair %s of %q at %d: %w", f.Kind, f.PersistenceID, f.SequenceNr, err)
	}
	return changed, nil
}

// archive keeps an item before it is taken away.
func (m *Mender) archive(r Removed) error {
	if err := m.Archive(r); err != nil {
		return fmt.Errorf("archive the item of %d: %w", r.SequenceNr, err)
	}
	return nil
}
