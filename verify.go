package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/replay"
	"github.com/dynajournal/dynajournal/internal/verify"
	"github.com/dynajournal/dynajournal/serialization"
)

// FindingKind names what is wrong with stored data.
type FindingKind = verify.Kind

// The kinds of findings; docs/operations.md says what each means and what to do.
const (
	FindingMissingHighMark       = verify.MissingHighMark
	FindingIncompleteBatch       = verify.IncompleteBatch
	FindingHole                  = verify.Hole
	FindingOrphanBelowLowMark    = verify.OrphanBelowLowMark
	FindingForeignWriter         = verify.ForeignWriter
	FindingUndecodable           = verify.Undecodable
	FindingMarkBeyondEvents      = verify.MarkBeyondEvents
	FindingWrongShards           = verify.WrongShards
	FindingSnapshotBeyondJournal = verify.SnapshotBeyondJournal
	FindingExpiredTombstone      = verify.ExpiredTombstone
	FindingNotInIDsIndex         = verify.NotInIDsIndex
)

// Finding is something in the stored data that is not as it should be.
type Finding struct {
	PersistenceID string
	Kind          FindingKind
	// SequenceNumber is where it was found, the first of several.
	SequenceNumber int64
	// Detail says in words what was found.
	Detail string
	// Repairable says that Repair can mend it without losing an event, Repaired that it has.
	Repairable, Repaired bool
}

// VerifyOptions say how to verify or repair. The zero value takes all the capacity it gets.
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
}

func (o VerifyOptions) check() error {
	if o.ReadUnitsPerSecond < 0 {
		return &ArgumentError{"VerifyOptions.ReadUnitsPerSecond", o.ReadUnitsPerSecond, mustNotBeNegative}
	}
	if o.Parallelism < 0 {
		return &ArgumentError{"VerifyOptions.Parallelism", o.Parallelism, mustNotBeNegative}
	}
	return nil
}

// Verify checks everything that stands for a persistence id, and returns what is not as it should be. It needs no writer and
// changes nothing. What is being written meanwhile can look like damage: check again before believing it.
func (j *Journal) Verify(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, oneID(persistenceID), false)
}

// VerifyAll checks every persistence id of the journal, several at the same time, in no order; it finds them by a scan.
func (j *Journal) VerifyAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, j.allIDs(ctx), false)
}

// Repair checks a persistence id as Verify does, and mends what can be mended without losing an event: missing high marks,
// parts of atomic writes that can't be completed any more, deleted events that are still there, expired tombstones where the
// table's TTL is off, missing entries in the ids index. It returns every finding. Writers need not be stopped.
func (j *Journal) Repair(ctx context.Context, persistenceID string, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, oneID(persistenceID), !opts.DryRun)
}

// RepairAll repairs every persistence id of the journal, as VerifyAll checks them.
func (j *Journal) RepairAll(ctx context.Context, opts VerifyOptions) iter.Seq2[Finding, error] {
	return j.findings(ctx, opts, j.allIDs(ctx), !opts.DryRun)
}

func oneID(pid string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(pid, nil) }
}

func (j *Journal) allIDs(ctx context.Context) iter.Seq2[string, error] {
	return j.CurrentPersistenceIDs(ctx, IDsOptions{Scan: true})
}

// findings checks ids, and mends what it finds if it is to.
func (j *Journal) findings(ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], mend bool) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		err := j.eachFinding(ctx, opts, pids, func(ctx context.Context, r *relay, f *verify.Finding) error {
			finding := Finding{f.PersistenceID, f.Kind, f.SequenceNr, f.Detail, f.Repairable, false}
			if mend && f.Repairable {
				if err := f.Repair(ctx, &dynamo.Meter{}); err != nil {
					return err
				}
				finding.Repaired = true
			}
			return r.call(ctx, func() error {
				if !yield(finding, nil) {
					return replay.ErrStop
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, replay.ErrStop) {
			yield(Finding{}, fmt.Errorf("verify journal %q: %w", j.config.JournalName, err))
		}
	}
}

func (j *Journal) eachFinding(
	ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], found func(context.Context, *relay, *verify.Finding) error,
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
		return j.checkEach(ctx, checker, opts, pids, r, func(f *verify.Finding) error { return found(ctx, r, f) })
	})
}

// checkEach checks ids, several at the same time.
func (j *Journal) checkEach(
	ctx context.Context, checker *verify.Checker, opts VerifyOptions, pids iter.Seq2[string, error], r *relay, found func(*verify.Finding) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(opts.Parallelism)
	for pid, err := range pids {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if err := j.checkID(pid); err != nil {
			group.Go(func() error { return err })
			break
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := checker.Check(ctx, pid, func(f verify.Finding) error { return found(&f) })
			if err != nil {
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
		Native:          j.Native(),
		TTL:             ttl == layout.AttrExpires,
		Now:             func() int64 { return j.clock.Wall().Unix() },
		TombstoneExpiry: j.tombstoneExpiry,
		Decode:          j.undecodable,
		NewestSnapshot:  j.newestSnapshot,
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

// undecodable says why the payload of an event can't be decoded. One whose serializer is not registered may be right.
func (j *Journal) undecodable(e *layout.Event) error {
	_, err := j.event(e).Payload()
	if errors.Is(err, serialization.ErrUnknownSerializer) {
		return nil
	}
	return err
}

// newestSnapshot is the highest sequence number of a snapshot; 0 if there is none, or no table of snapshots.
func (j *Journal) newestSnapshot(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	newest, err := j.saved.Highest(ctx, m, pid)
	if errors.Is(err, ErrTableNotFound) {
		return 0, nil
	}
	return newest, err
}
