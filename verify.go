package dynajournal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/verify"
)

// FindingKind is a kind of problem with stored data.
type FindingKind string

// The kinds of findings. docs/operations.md describes the cause of each kind, the effect on
// readers, and the repair.
const (
	// FindingMissingHighMark: the high mark that the highest sequence number needs is missing.
	FindingMissingHighMark FindingKind = "missing-high-mark"
	// FindingIncompleteBatch: events of an atomic write are missing, so readers get none of its
	// other events.
	FindingIncompleteBatch FindingKind = "incomplete-batch"
	// FindingHole: nothing is stored at sequence numbers below the highest, or a tombstone or a
	// fence is stored above the low mark.
	FindingHole FindingKind = "hole"
	// FindingOrphanBelowLowMark: an event is stored below the low mark.
	FindingOrphanBelowLowMark FindingKind = "orphan-below-low-mark"
	// FindingBelowJVMLowMark: in a shared journal, items are stored below the low mark that a JVM
	// reads, in the block in which the JVM looks for the highest sequence number.
	FindingBelowJVMLowMark FindingKind = "below-jvm-low-mark"
	// FindingForeignWriter: events of two writers alternate. Both wrote at the same time, and one
	// may have overwritten events of the other.
	FindingForeignWriter FindingKind = "foreign-writer"
	// FindingUndecodable: an item can't be read, or the payload of an event can't be decoded. If
	// the serializer of a payload is not registered, only the payload's syntax is checked.
	FindingUndecodable FindingKind = "undecodable"
	// FindingUnknownItem: an item among the events is not an event, tombstone, seal or fence, or
	// its number does not belong to its partition.
	FindingUnknownItem FindingKind = "unknown-item"
	// FindingMarkBeyondEvents: a high mark is above the highest sequence number.
	FindingMarkBeyondEvents FindingKind = "mark-beyond-events"
	// FindingWrongShards: a mark is stored in the wrong shard. A process writes with another number
	// of shards.
	FindingWrongShards FindingKind = "wrong-shards"
	// FindingSnapshotBeyondJournal: a snapshot contains events that the journal does not have.
	FindingSnapshotBeyondJournal FindingKind = "snapshot-beyond-journal"
	// FindingSnapshotMissing: events were deleted because a snapshot has their state, and there is
	// no snapshot that is as new.
	FindingSnapshotMissing FindingKind = "snapshot-missing"
	// FindingDamagedSnapshot: an item of a snapshot is missing or damaged.
	FindingDamagedSnapshot FindingKind = "damaged-snapshot"
	// FindingExpiredTombstone: a tombstone has expired but is still stored, because the table's TTL
	// is off.
	FindingExpiredTombstone FindingKind = "expired-tombstone"
	// FindingNotInIDsIndex: the index of persistence ids of a native journal does not list the id.
	FindingNotInIDsIndex FindingKind = "not-in-ids-index"
	// FindingUnchecked: VerifyAll or RepairAll could not check or repair the persistence id.
	FindingUnchecked FindingKind = "unchecked"
)

// Severity ranks a finding.
type Severity string

// The severities, from the least to the most severe.
const (
	// SeverityLeftOver: an item is stored that no reader returns, and whose write was never
	// acknowledged. The write was refused or cut short, or is still in flight. Nothing has to be
	// done.
	SeverityLeftOver Severity = "left-over"
	// SeverityDamage: the stored items are inconsistent. The kind of the finding determines the
	// effect on readers.
	SeverityDamage Severity = "damage"
	// SeverityDataLoss: acknowledged events are lost or hidden, or may be.
	SeverityDataLoss Severity = "data-loss"
)

// Severities returns all severities, from the least to the most severe.
func Severities() []Severity { return []Severity{SeverityLeftOver, SeverityDamage, SeverityDataLoss} }

// AtLeast reports whether s is at least as severe as other.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities(), s) >= slices.Index(Severities(), other)
}

// Finding is a problem with stored data, or a left-over item.
type Finding struct {
	PersistenceID string
	Kind          FindingKind
	Severity      Severity
	// SequenceNumber is the number at which the problem was found, or the first of several numbers.
	SequenceNumber int64
	// Detail describes the problem.
	Detail string
	// Repairable reports whether Repair can repair the finding with the given options. Repaired
	// reports whether it has.
	Repairable, Repaired bool
	// Option is the option that Repair needs to repair the finding. It is empty if Repair needs
	// none, or if the finding can't be repaired.
	Option RepairOption
}

// RepairOption names a repair that is made only on request. Its value is the name of the flag of
// `dynajournal repair`.
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
	// OptionSealMissing is VerifyOptions.SealMissing.
	OptionSealMissing RepairOption = "seal-missing"
)

// RemovedItem is an item that Repair is about to remove, as passed to VerifyOptions.Archive.
type RemovedItem struct {
	PersistenceID  string
	Kind           FindingKind
	SequenceNumber int64
	Table          string
	// Item is the whole item in DynamoDB's JSON, as the option --item of `aws dynamodb put-item`
	// accepts it.
	Item json.RawMessage
}

// VerifyOptions are the options of Verify, VerifyAll, Repair and RepairAll. With the zero value the
// capacity is not limited, and only repairs are made that change nothing for readers.
type VerifyOptions struct {
	// Archive is called with each item before Repair removes it, one call at a time. If it returns
	// an error, the item stays, and Repair stops and returns the error. If the item has changed
	// since Repair read it, it also stays.
	//
	// RemoveDeleted, RemoveIncomplete and RemoveOrphans need it, unless DryRun is set.
	Archive func(RemovedItem) error

	// DryRun makes Repair and RepairAll return the repairs that they would make, and change
	// nothing.
	//
	// Defaults to false. Verify and VerifyAll set it.
	DryRun bool

	// Parallelism is the number of persistence ids that VerifyAll and RepairAll check at the same
	// time. It must not be negative.
	//
	// Defaults to Config.ReplayParallelism.
	Parallelism int

	// Progress, if set, is called after each persistence id that VerifyAll or RepairAll has
	// checked, one call at a time.
	Progress func(persistenceID string)

	// ReadUnitsPerSecond is the largest average read capacity to use. It must not be negative.
	//
	// Defaults to no limit.
	ReadUnitsPerSecond float64

	// RemoveDeleted applies to a journal that is shared with a JVM. It makes Repair remove the
	// items that deletions of earlier versions have left where the JVM looks for the highest
	// sequence number. Stop the entity on both sides first.
	//
	// Defaults to false.
	RemoveDeleted bool

	// RemoveIncomplete makes Repair replace the events of atomic writes that can't become complete
	// with seals. Such a write may have been acknowledged, if another writer has overwritten a part
	// of it.
	//
	// Defaults to false.
	RemoveIncomplete bool

	// RemoveOrphans makes Repair replace events below the low mark with tombstones. First make sure
	// that the low mark is right: the events may have been acknowledged.
	//
	// Defaults to false.
	RemoveOrphans bool

	// RestoreHighMark makes Repair put a missing high mark without which readers do not find the
	// events after a gap. Readers then find these events again.
	//
	// Defaults to false.
	RestoreHighMark bool

	// SealMissing makes Repair seal the numbers at which stored events are missing: see
	// [ErrEventMissing]. Readers, recoveries and projections then continue without these events. If
	// there is a backup of the table, restore the items instead.
	//
	// Defaults to false.
	SealMissing bool
}

// asked reports whether the option is set. It returns true for the empty option.
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
	case OptionSealMissing:
		return o.SealMissing
	}
	return false
}

func (o VerifyOptions) check() error {
	if o.ReadUnitsPerSecond < 0 {
		return &ArgumentError{"VerifyOptions.ReadUnitsPerSecond", o.ReadUnitsPerSecond, core.MustNotBeNegative}
	}
	if o.Parallelism < 0 {
		return &ArgumentError{"VerifyOptions.Parallelism", o.Parallelism, core.MustNotBeNegative}
	}
	if (o.RemoveOrphans || o.RemoveDeleted || o.RemoveIncomplete) && o.Archive == nil && !o.DryRun {
		return &ArgumentError{"VerifyOptions.Archive", nil, "it must be set, because removed items must be archived first"}
	}
	return nil
}

// Verify checks all stored items of a persistence id, and returns the problems it finds. It needs
// no writer and changes nothing. Events that are written at the same time can look damaged: verify
// again.
//
// Errors: [ErrInvalidArgument], [ErrCorruptItem], [ErrHole], [ErrClosed], and request errors. After
// an error the sequence ends.
func (j *Journal) Verify(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	opts.DryRun = true
	return j.findings(ctx, opts, oneID(persistenceID), false)
}

// VerifyAll verifies every persistence id of the journal, several at the same time and in any
// order. It finds the ids with a scan. For an id that can't be verified it returns a
// [FindingUnchecked]. Errors are those documented on [Journal.Verify].
func (j *Journal) VerifyAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	opts.DryRun = true
	return j.findings(ctx, opts, j.allIDs(ctx), true)
}

// Repair verifies a persistence id, and makes the repairs that change nothing for readers. It puts
// missing high marks without which readers still find all events, removes expired tombstones if the
// table's TTL is off, and adds missing entries to the index of persistence ids. Other repairs need
// an option. Repair verifies again until there is nothing left to repair. It returns each finding
// once: repaired findings as it repairs them, remaining findings at the end.
//
// Writers need not be stopped, except for VerifyOptions.RemoveDeleted.
//
// Errors are those documented on [Journal.Verify], [ErrClock], and errors of VerifyOptions.Archive.
// After an error some repairs may be made ([MaybeApplied] reports whether). The call may be
// repeated.
func (j *Journal) Repair(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, oneID(persistenceID), false)
}

// RepairAll repairs every persistence id of the journal, as [Journal.VerifyAll] verifies them. For
// an id that can be read but not written, because its keys would become too long, it returns a
// [FindingUnchecked]. Errors are those documented on [Journal.Repair].
func (j *Journal) RepairAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, j.allIDs(ctx), true)
}

// oneID returns the sequence of one persistence id.
func oneID(pid string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(pid, nil) }
}

// allIDs returns the sequence of all persistence ids.
func (j *Journal) allIDs(ctx context.Context) iter.Seq2[string, error] {
	return j.CurrentPersistenceIDs(ctx, IDsOptions{Scan: true})
}

// findings checks persistence ids, and repairs them unless opts.DryRun is set. If all is true, an
// id that can't be checked becomes a finding, and the check of the other ids continues.
func (j *Journal) findings(
	ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], all bool,
) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		err := opts.check()
		if err != nil {
			err = fmt.Errorf("verify journal %q: %w", j.core.Name, err)
		} else {
			orDefault(&opts.Parallelism, j.core.Parallelism)
			err = j.core.Verify(ctx, &core.Verification{
				Repair:             !opts.DryRun,
				Asked:              func(option verify.Option) bool { return opts.asked(RepairOption(option)) },
				All:                all,
				Parallelism:        opts.Parallelism,
				ReadUnitsPerSecond: opts.ReadUnitsPerSecond,
				Found: func(f *verify.Finding, repaired bool) error {
					if !yield(opts.finding(f, repaired), nil) {
						return protocol.ErrStop
					}
					return nil
				},
				Archive: func(r *verify.Removed, item json.RawMessage) error {
					return opts.Archive(RemovedItem{r.PersistenceID, FindingKind(r.Kind), r.SequenceNr, j.core.Table, item})
				},
				Progress: opts.Progress,
			}, pids)
		}
		if err != nil {
			yield(Finding{}, err)
		}
	}
}

// finding returns the public form of a finding.
func (o *VerifyOptions) finding(f *verify.Finding, repaired bool) Finding {
	return Finding{
		PersistenceID:  f.PersistenceID,
		Kind:           FindingKind(f.Kind),
		Severity:       Severity(f.Severity),
		SequenceNumber: f.SequenceNr,
		Detail:         f.Detail,
		Repairable:     f.Repairable() && o.asked(RepairOption(f.Option)),
		Repaired:       repaired,
		Option:         RepairOption(f.Option),
	}
}
