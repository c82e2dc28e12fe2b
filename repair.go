package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/verify"
	"github.com/dynajournal/dynajournal/serialization"
)

// checkVerifiable returns an *ArgumentError if a persistence id can't be checked, or can't be
// repaired without opts.DryRun: a repair may have to put items whose keys would be too long.
func (j *Journal) checkVerifiable(pid string, opts VerifyOptions) error {
	if opts.DryRun {
		return j.core.CheckReadable(pid)
	}
	return j.core.CheckID(pid)
}

// concernsOneID reports whether an error is about one persistence id alone.
func concernsOneID(err error) bool {
	item := new(layout.ItemError)
	return errors.Is(err, ErrInvalidArgument) || errors.Is(err, ErrHole) || errors.As(err, &item)
}

// findings checks persistence ids, and repairs them unless opts.DryRun is set. If all is true, an
// id that can't be checked is a finding, and does not end the checking of the others.
func (j *Journal) findings(
	ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error], all bool,
) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		var repairs dynamo.Meter
		err := j.eachID(ctx, opts, pids, func(ctx context.Context, c *verify.Checker, out *relay, pid string) error {
			r := &repair{checker: c, opts: &opts, journalTable: j.core.Table, meter: &repairs}
			r.call = func(code func() error) error { return out.call(ctx, code) }
			r.found = func(f Finding) error {
				return r.call(func() error {
					if !yield(f, nil) {
						return protocol.ErrStop
					}
					return nil
				})
			}
			err := j.checkVerifiable(pid, opts)
			if err == nil {
				err = r.run(ctx, pid)
			}
			if all && concernsOneID(err) {
				return r.found(Finding{
					PersistenceID: pid, Kind: FindingUnchecked, Severity: SeverityDamage, Detail: err.Error(),
				})
			}
			return err
		})
		if err != nil && !errors.Is(err, protocol.ErrStop) {
			yield(Finding{}, fmt.Errorf("verify journal %q: %w", j.core.Name, repairs.Mark(public(err))))
		}
	}
}

// repair is the repair of one persistence id, or only its check.
type repair struct {
	checker      *verify.Checker
	opts         *VerifyOptions
	journalTable string
	// meter is for the requests of repairs.
	meter *dynamo.Meter
	// call runs the caller's code, one call at a time.
	call  func(code func() error) error
	found func(Finding) error
}

// maxPasses limits how often a persistence id is checked again because something was repaired.
const maxPasses = 10

// run checks a persistence id until a check repairs nothing, as a repair can uncover further
// findings. A last check, which repairs nothing, returns the findings that remain, so that each is
// returned once.
func (r *repair) run(ctx context.Context, pid string) error {
	for pass := 0; !r.opts.DryRun && pass < maxPasses; pass++ {
		repaired, left, err := r.pass(ctx, pid)
		if err != nil || repaired+left == 0 {
			return err
		}
		if repaired == 0 {
			break
		}
	}
	return r.checker.Check(ctx, pid, func(f verify.Finding) error { return r.found(r.public(&f, false)) })
}

// pass checks a persistence id once, and repairs what the options allow. It returns how many
// findings it has repaired, and how many it has left.
func (r *repair) pass(ctx context.Context, pid string) (repaired, left int, err error) {
	mender := &verify.Mender{Meter: r.meter, Archive: r.archive}
	err = r.checker.Check(ctx, pid, func(f verify.Finding) error {
		if !f.Repairable() || !r.opts.asked(RepairOption(f.Option)) {
			left++
			return nil
		}
		changed, err := f.Repair(ctx, mender)
		if err != nil {
			return err
		}
		if !changed { // the item has changed: leave it to the next check
			left++
			return nil
		}
		repaired++
		return r.found(r.public(&f, true))
	})
	return repaired, left, err
}

// public returns the public form of a finding.
func (r *repair) public(f *verify.Finding, repaired bool) Finding {
	return Finding{
		PersistenceID:  f.PersistenceID,
		Kind:           FindingKind(f.Kind),
		Severity:       Severity(f.Severity),
		SequenceNumber: f.SequenceNr,
		Detail:         f.Detail,
		Repairable:     f.Repairable() && r.opts.asked(RepairOption(f.Option)),
		Repaired:       repaired,
		Option:         RepairOption(f.Option),
	}
}

// archive passes an item that is going to be removed to VerifyOptions.Archive.
func (r *repair) archive(removed verify.Removed) error {
	text, err := layout.JSON(removed.Item)
	if err != nil {
		return err
	}
	item := RemovedItem{removed.PersistenceID, FindingKind(removed.Kind), removed.SequenceNr, r.journalTable, text}
	return r.call(func() error { return r.opts.Archive(item) })
}

// eachID checks the options, and calls check for each persistence id.
func (j *Journal) eachID(
	ctx context.Context, opts VerifyOptions, pids iter.Seq2[string, error],
	check func(context.Context, *verify.Checker, *relay, string) error,
) error {
	if err := opts.check(); err != nil {
		return err
	}
	return j.core.Operate(ctx, func(ctx context.Context, op *lifetime.Operation) error {
		checker, err := j.checker(ctx, opts)
		if err != nil {
			return err
		}
		orDefault(&opts.Parallelism, j.core.Parallelism)
		return runWithRelay(ctx, op, func(ctx context.Context, r *relay) error {
			return j.checkEach(ctx, checker, opts, pids, r, check)
		})
	})
}

// checkEach calls check for each persistence id, several at the same time.
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

// checker returns what checks persistence ids.
func (j *Journal) checker(ctx context.Context, opts VerifyOptions) (*verify.Checker, error) {
	ttl, err := j.core.Client.TTL(ctx, j.core.Table)
	if err != nil {
		return nil, err
	}
	c := &verify.Checker{
		Store:           j.core.Store,
		TTL:             ttl == layout.AttrExpires,
		Now:             j.earliest,
		TombstoneExpiry: j.tombstoneExpiry,
		Decode:          func(e *layout.Event) error { return j.checkPayload(ctx, e) },
		Snapshots:       j.eachSnapshot,
	}
	if opts.ReadUnitsPerSecond > 0 {
		c.Paced = pace(opts.ReadUnitsPerSecond)
	}
	return c, nil
}

// pace returns a function that waits after each request, to keep to the read capacity.
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

// tombstoneExpiry returns the expiry of a tombstone that is put now, unless the local clock and the
// service's were too far apart in the last response.
func (j *Journal) tombstoneExpiry() (int64, error) {
	return j.core.Protocol.TombstoneExpiry(), j.core.Protocol.CheckClock(clock.Moment{})
}

// earliest returns the time in seconds since 1970 by the slower of the two clocks: a tombstone that
// has expired by one clock alone may still be needed.
func (j *Journal) earliest() int64 {
	now := j.core.Clock.Wall().Unix()
	if service, ok := j.core.Clock.Service(); ok {
		now = min(now, service.Unix())
	}
	return now
}

// checkPayload returns why the payload of an event can't be decoded. A payload whose serializer is
// not registered is right if its bytes are well formed, and so is a reference if there is no store.
func (j *Journal) checkPayload(ctx context.Context, e *layout.Event) error {
	_, err := j.core.Decode(ctx, e)
	if isUndecodable(err) {
		return j.core.Serialization.WellFormed(core.Payload(e))
	}
	return err
}

// eachSnapshot calls each with the sequence number of each snapshot, and with the reason if it
// can't be read. If the snapshot table does not exist there are none.
func (j *Journal) eachSnapshot(
	ctx context.Context, m *dynamo.Meter, pid string, each func(seq int64, damage error) error,
) error {
	var stopped error
	err := j.core.Saved.Each(ctx, m, pid, snapshots.Everything(), 0, func(s layout.Snapshot, damage error) bool {
		if damage == nil {
			damage = j.checkState(ctx, j.snapshot(&s))
		}
		stopped = each(s.SequenceNr, damage)
		return stopped == nil
	})
	if errors.Is(err, ErrTableNotFound) {
		return nil
	}
	return errors.Join(err, stopped)
}

// checkState is checkPayload for a snapshot.
func (j *Journal) checkState(ctx context.Context, s Snapshot) error {
	_, err := s.StateContext(ctx)
	if isUndecodable(err) {
		return j.core.Serialization.WellFormed(s.Serialized())
	}
	return err
}

// isUndecodable reports whether a payload can't be decoded because of what the registry lacks.
func isUndecodable(err error) bool {
	return errors.Is(err, serialization.ErrUnknownSerializer) || errors.Is(err, serialization.ErrNoPayloadStore)
}
