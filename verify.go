package dynajournal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/verify"
	"github.com/dynajournal/dynajournal/serialization"
)

// FindingKind names what is wrong with stored data.
type FindingKind = verify.Kind

// The kinds of findings; docs/operations.md says of each what makes it, what a reader sees, and
// what a repair does.
const (
	FindingMissingHighMark       = verify.MissingHighMark
	FindingIncompleteBatch       = verify.IncompleteBatch
	FindingHole                  = verify.Hole
	FindingOrphanBelowLowMark    = verify.OrphanBelowLowMark
	FindingBelowJVMLowMark       = verify.BelowJVMLowMark
	FindingForeignWriter         = verify.ForeignWriter
	FindingUndecodable           = verify.Undecodable
	FindingUnknownItem           = verify.UnknownItem
	FindingMarkBeyondEvents      = verify.MarkBeyondEvents
	FindingWrongShards           = verify.WrongShards
	FindingSnapshotBeyondJournal = verify.SnapshotBeyondJournal
	FindingDamagedSnapshot       = verify.DamagedSnapshot
	FindingExpiredTombstone      = verify.ExpiredTombstone
	FindingNotInIDsIndex         = verify.NotInIDsIndex
	FindingUnchecked             = verify.Unchecked
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

// RepairOption names a repair that is made only if it is asked for, as the command's flag does.
type RepairOption = verify.Option

// The options of a repair.
const (
	OptionRemoveOrphans    = verify.RemoveOrphans
	OptionRemoveDeleted    = verify.RemoveDeleted
	OptionRemoveIncomplete = verify.RemoveIncomplete
	OptionRestoreHighMark  = verify.RestoreHighMark
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
	// Progress is called after each persistence id that VerifyAll or RepairAll has checked, if set, one call at a time.
	Progress func(persistenceID string)
	// DryRun makes a repair change nothing: it only says what it would repair.
	DryRun bool

	// RemoveOrphans makes a repair turn events below the low mark into tombstones. Make sure that
	// the low mark is right: what is below it may be events that somebody was told are stored.
	RemoveOrphans bool
	// RemoveDeleted makes a repair remove, in a journal that is shared with a JVM, what deletions of
	// earlier versions have left where the JVM looks for its highest number. The entity must be
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

// checkable returns why a persistence id can't be checked, or not be repaired where that is asked
// for: a repair may have to put items whose keys would not fit.
func (j *Journal) checkable(pid string, opts VerifyOptions) error {
	if opts.DryRun {
		return j.checkReadable(pid)
	}
	return j.checkID(pid)
}

// ofOneID reports whether an error says something of one persistence id alone.
func ofOneID(err error) bool {
	item := new(layout.ItemError)
	return errors.Is(err, ErrInvalidArgument) || errors.Is(err, ErrHole) || errors.As(err, &item)
}

// findings checks ids, and mends what it finds unless it is a dry run. all says that the ids are
// those of the journal, of which one does not end the checking of the others.
func (j *Journal) findings(ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], all bool) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		err := j.eachID(ctx, opts, pids, func(ctx context.Context, c *verify.Checker, out *relay, pid string) error {
			r := &repair{checker: c, opts: &opts, journalTable: j.config.JournalTable}
			r.call = func(code func() error) error { return out.call(ctx, code) }
			r.found = func(f Finding) error {
				return r.call(func() error {
					if !yield(f, nil) {
						return protocol.ErrStop
					}
					return nil
				})
			}
			err := j.checkable(pid, opts)
			if err == nil {
				err = r.run(ctx, pid)
			}
			if all && ofOneID(err) {
				return r.found(Finding{PersistenceID: pid, Kind: FindingUnchecked, Detail: err.Error()})
			}
			return err
		})
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(Finding{}, fmt.Errorf("verify journal %q: %w", j.config.JournalName, public(err)))
		}
	}
}

// repair is the repair, or only the check, of one persistence id.
type repair struct {
	checker      *verify.Checker
	opts         *VerifyOptions
	journalTable string
	// call runs the caller's code, one call at a time.
	call  func(code func() error) error
	found func(Finding) error
}

// maxPasses bounds how often a persistence id is checked anew because something was mended.
const maxPasses = 10

// run checks a persistence id until a check mends nothing: what is mended can uncover more. What is
// left is returned by a last check that mends nothing any more, so that every finding is returned
// once, as it is in the end.
func (r *repair) run(ctx context.Context, pid string) error {
	for pass := 0; !r.opts.DryRun && pass < maxPasses; pass++ {
		mended, left, err := r.mend(ctx, pid)
		if err != nil || mended+left == 0 {
			return err
		}
		if mended == 0 {
			break
		}
	}
	return r.checker.Check(ctx, pid, func(f verify.Finding) error { return r.found(r.public(&f, false)) })
}

// mend checks a persistence id, and mends what it is to. It returns how many findings it has
// mended, and how many it has not.
func (r *repair) mend(ctx context.Context, pid string) (mended, left int, err error) {
	mender := &verify.Mender{Meter: &dynamo.Meter{}, Archive: r.archive}
	err = r.checker.Check(ctx, pid, func(f verify.Finding) error {
		if !f.Repairable() || !r.opts.asked(f.Option) {
			left++
			return nil
		}
		changed, err := f.Repair(ctx, mender)
		if err != nil {
			return err
		}
		if !changed { // it is no longer what it was: the next check decides
			left++
			return nil
		}
		mended++
		return r.found(r.public(&f, true))
	})
	return mended, left, err
}

func (r *repair) public(f *verify.Finding, repaired bool) Finding {
	return Finding{
		PersistenceID:  f.PersistenceID,
		Kind:           f.Kind,
		SequenceNumber: f.SequenceNr,
		Detail:         f.Detail,
		Repairable:     f.Repairable() && r.opts.asked(f.Option),
		Repaired:       repaired,
		Option:         f.Option,
	}
}

// archive gives an item that is going to be taken away to the caller.
func (r *repair) archive(removed verify.Removed) error {
	text, err := layout.JSON(removed.Item)
	if err != nil {
		return err
	}
	item := RemovedItem{removed.PersistenceID, removed.Kind, removed.SequenceNr, r.journalTable, text}
	return r.call(func() error { return r.opts.Archive(item) })
}

// eachID checks ids at the same time.
func (j *Journal) eachID(
	ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], check func(context.Context, *verify.Checker, *relay, string) error,
) error {
	if err := opts.check(); err != nil {
		return err
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	checker, err := j.checker(ctx, opts)
	if err != nil {
		return err
	}
	orDefault(&opts.Parallelism, j.config.ReplayParallelism)
	return relaying(ctx, op, func(ctx context.Context, r *relay) error {
		return j.checkEach(ctx, checker, opts, pids, r, check)
	})
}

// checkEach checks ids, several at the same time.
func (j *Journal) checkEach(
	ctx context.Context, checker *verify.Checker, opts VerifyOptions, pids iter.Seq2[string, error], r *relay,
	check func(context.Context, *verify.Checker, *relay, string) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(opts.Parallelism)
	for pid, err := range pids {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := check(ctx, checker, r, pid); err != nil {
				return fmt.Errorf("check %q: %w", pid, err)
			}
			if opts.Progress == nil {
				return nil
			}
			return r.call(ctx, func() error {
				opts.Progress(pid)
				return nil
			})
		})
	}
	return group.Wait()
}

func (j *Journal) checker(ctx context.Context, opts VerifyOptions) (*verify.Checker, error) {
	ttl, err := j.client.TTL(ctx, j.config.JournalTable)
	if err != nil {
		return nil, err
	}
	c := &verify.Checker{
		Store:           j.store,
		TTL:             ttl == layout.AttrExpires,
		Now:             j.earliest,
		TombstoneExpiry: j.protocol.TombstoneExpiry,
		Decode:          j.undecodable,
		Snapshots:       j.eachSnapshot,
	}
	if opts.ReadUnitsPerSecond > 0 {
		c.Paced = pace(opts.ReadUnitsPerSecond)
	}
	return c, nil
}

// pace waits after each request until its units are paid for.
func pace(unitsPerSecond float64) func(context.Context, float64) error {
	limiter := rate.NewLimiter(rate.Limit(unitsPerSecond), max(int(unitsPerSecond), 1))
	return func(ctx context.Context, units float64) error {
		for left := int(units + 1); left > 0; left -= limiter.Burst() {
			if err := limiter.WaitN(ctx, min(left, limiter.Burst())); err != nil {
				return fmt.Errorf("keep to the read capacity: %w", err)
			}
		}
		return nil
	}
}

// earliest is the time in seconds since 1970 by the clock that is behind: a tombstone that one
// clock takes for expired may still be needed.
func (j *Journal) earliest() int64 {
	now := j.clock.Wall().Unix()
	if service, ok := j.clock.Service(); ok {
		now = min(now, service.Unix())
	}
	return now
}

// undecodable says why the payload of an event can't be decoded. One whose serializer is not
// registered may be right, if its bytes are well formed.
func (j *Journal) undecodable(e *layout.Event) error {
	event := j.event(e)
	_, err := event.Payload()
	if errors.Is(err, serialization.ErrUnknownSerializer) {
		return j.config.Serialization.WellFormed(event.Serialized())
	}
	return err
}

// eachSnapshot gives the sequence number of each snapshot to each, with why it can't be read. Where
// there is no table of snapshots there are none.
func (j *Journal) eachSnapshot(ctx context.Context, m *dynamo.Meter, pid string, each func(seq int64, damage error) error) error {
	var stopped error
	err := j.saved.Each(ctx, m, pid, snapshots.Everything(), 0, func(s layout.Snapshot, damage error) bool {
		if damage == nil {
			damage = j.undecodableState(j.snapshot(&s))
		}
		stopped = each(s.SequenceNr, damage)
		return stopped == nil
	})
	if errors.Is(err, ErrTableNotFound) {
		return nil
	}
	return errors.Join(err, stopped)
}

// undecodableState says of a snapshot what undecodable says of an event.
func (j *Journal) undecodableState(s Snapshot) error {
	_, err := s.State()
	if errors.Is(err, serialization.ErrUnknownSerializer) {
		return j.config.Serialization.WellFormed(s.Serialized())
	}
	return err
}
