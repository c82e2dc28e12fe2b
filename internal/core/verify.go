package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/verify"
	"github.com/dynajournal/dynajournal/serialization"
)

// Verification is the task of [Journal.Verify]. Its functions are the caller's code. Verify runs
// them one at a time.
type Verification struct {
	// Repair enables repairs. Asked reports whether findings with an option are repaired.
	Repair bool
	Asked  func(verify.Option) bool
	// All reports whether a persistence id that can't be checked becomes a finding. Otherwise it
	// ends the check of all persistence ids.
	All bool
	// Parallelism is the number of persistence ids that are checked at the same time.
	Parallelism int
	// ReadUnitsPerSecond limits the average read capacity. 0 means no limit.
	ReadUnitsPerSecond float64

	// Found gets each finding. repaired reports that it was repaired. An error ends Verify.
	Found func(f *verify.Finding, repaired bool) error
	// Archive gets each item that is going to be removed, in DynamoDB's JSON.
	Archive func(removed *verify.Removed, item json.RawMessage) error
	// Progress, if set, is called after each persistence id.
	Progress func(pid string)
}

// Verify checks persistence ids, and repairs them. If something was or may have been repaired, its
// error is dynamo.Applied.
func (j *Journal) Verify(ctx context.Context, v *Verification, pids iter.Seq2[string, error]) error {
	var repairs dynamo.Meter
	err := j.Operate(ctx, dynamo.ForVerify, func(ctx context.Context, op *lifetime.Operation) error {
		checker, err := j.checker(ctx, v)
		if err != nil {
			return err
		}
		return op.Relay(ctx, func(ctx context.Context, relay *lifetime.Relay) error {
			return j.checkEach(ctx, v, pids, relay, func(ctx context.Context, pid string) error {
				r := &repair{Verification: v, checker: checker, meter: &repairs}
				r.call = func(code func() error) error { return relay.Call(ctx, code) }
				return j.checkOne(ctx, r, pid)
			})
		})
	})
	if err != nil && !errors.Is(err, protocol.ErrStop) {
		return fmt.Errorf("verify journal %q: %w", j.Name, repairs.Mark(j.PublicError(err)))
	}
	return nil
}

// checkOne checks a persistence id, and repairs it.
func (j *Journal) checkOne(ctx context.Context, r *repair, pid string) error {
	err := j.checkVerifiable(pid, r.Repair)
	if err == nil {
		err = r.run(ctx, pid)
	}
	if r.All && concernsOneID(err) {
		unchecked := verify.Finding{
			PersistenceID: pid, Kind: verify.Unchecked, Severity: verify.Damage, Detail: err.Error(),
		}
		return r.found(&unchecked, false)
	}
	return err
}

// checkVerifiable returns an error if a persistence id can't be checked, or can't be repaired: a
// repair may have to put items whose keys would be too long.
func (j *Journal) checkVerifiable(pid string, repair bool) error {
	if repair {
		return j.CheckID(pid)
	}
	return j.CheckReadable(pid)
}

// concernsOneID reports whether an error is about one persistence id alone.
func concernsOneID(err error) bool {
	item := new(layout.ItemError)
	return errors.Is(err, ErrInvalidArgument) || errors.Is(err, protocol.ErrHole) || errors.As(err, &item)
}

// repair is the check of one persistence id, with its repair if that is enabled.
type repair struct {
	*Verification

	checker *verify.Checker
	// meter counts the requests of repairs.
	meter *dynamo.Meter
	// call runs the caller's code, one call at a time.
	call func(code func() error) error
}

func (r *repair) found(f *verify.Finding, repaired bool) error {
	return r.call(func() error { return r.Found(f, repaired) })
}

// maxPasses limits the number of passes over a persistence id that repair something.
const maxPasses = 10

// run checks a persistence id until a check repairs nothing, because a repair can uncover further
// findings. A last check, which repairs nothing, returns the findings that remain, so that each is
// returned once.
func (r *repair) run(ctx context.Context, pid string) error {
	for pass := 0; r.Repair && pass < maxPasses; pass++ {
		repaired, left, err := r.pass(ctx, pid)
		if err != nil || repaired+left == 0 {
			return err
		}
		if repaired == 0 {
			break
		}
	}
	return r.checker.Check(ctx, pid, func(f verify.Finding) error { return r.found(&f, false) })
}

// pass checks a persistence id once, and makes the repairs that Asked allows. It returns the number
// of findings that it has repaired, and the number of the others.
func (r *repair) pass(ctx context.Context, pid string) (repaired, left int, err error) {
	mender := &verify.Mender{Meter: r.meter, Archive: r.archive}
	err = r.checker.Check(ctx, pid, func(f verify.Finding) error {
		if !f.Repairable() || !r.Asked(f.Option) {
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
		return r.found(&f, true)
	})
	return repaired, left, err
}

// archive passes an item that is going to be removed to the caller.
func (r *repair) archive(removed verify.Removed) error {
	text, err := layout.JSON(removed.Item)
	if err != nil {
		return err
	}
	return r.call(func() error { return r.Archive(&removed, text) })
}

// checkEach calls check for each persistence id, several at the same time.
func (j *Journal) checkEach(
	ctx context.Context, v *Verification, pids iter.Seq2[string, error], relay *lifetime.Relay,
	check func(context.Context, string) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.Parallelism)
	for pid, err := range pids {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := check(ctx, pid); err != nil {
				return fmt.Errorf("check %q: %w", pid, err)
			}
			if v.Progress == nil {
				return nil
			}
			return relay.Call(ctx, func() error {
				v.Progress(pid)
				return nil
			})
		})
	}
	return group.Wait()
}

// checker returns a verify.Checker for the journal.
func (j *Journal) checker(ctx context.Context, v *Verification) (*verify.Checker, error) {
	ttl, err := j.Client.TTL(ctx, j.Table)
	if err != nil {
		return nil, err
	}
	c := &verify.Checker{
		Store:           j.Store,
		TTL:             ttl == layout.AttrExpires,
		Now:             j.earliest,
		TombstoneExpiry: j.tombstoneExpiry,
		Decode:          func(e *layout.Event) error { return j.checkPayload(ctx, e) },
		Snapshots:       j.eachSnapshot,
	}
	if v.ReadUnitsPerSecond > 0 {
		c.Paced = pace(v.ReadUnitsPerSecond)
	}
	return c, nil
}

// pace returns a function that waits after each request, so that reads stay within the capacity.
func pace(unitsPerSecond float64) func(context.Context, float64) error {
	limiter := rate.NewLimiter(rate.Limit(unitsPerSecond), max(int(unitsPerSecond), 1))
	return func(ctx context.Context, units float64) error {
		for left := int(units + 1); left > 0; left -= limiter.Burst() {
			if err := limiter.WaitN(ctx, min(left, limiter.Burst())); err != nil {
				return fmt.Errorf("wait for read capacity: %w", err)
			}
		}
		return nil
	}
}

// tombstoneExpiry returns the expiry of a tombstone that is put now. It fails if the local clock
// and the service's clock were too far apart in the last response.
func (j *Journal) tombstoneExpiry() (int64, error) {
	return j.Protocol.TombstoneExpiry(), j.Protocol.CheckClock(clock.Moment{})
}

// earliest returns the time in seconds since 1970 by the slower of the two clocks: a tombstone that
// has expired by one clock alone may still be needed.
func (j *Journal) earliest() int64 {
	now := j.Clock.Wall().Unix()
	if service, ok := j.Clock.Service(); ok {
		now = min(now, service.Unix())
	}
	return now
}

// checkPayload returns an error if the payload of an event can't be decoded. If the registry lacks
// its serializer, or the payload store that it refers to, checkPayload only checks that the payload
// is well formed.
func (j *Journal) checkPayload(ctx context.Context, e *layout.Event) error {
	_, err := j.Decode(ctx, e)
	if isUndecodable(err) {
		return j.Serialization.WellFormed(Payload(e))
	}
	return err
}

// eachSnapshot calls each for each snapshot, with its sequence number and, if it can't be read, the
// error. If the snapshot table does not exist, it calls nothing.
func (j *Journal) eachSnapshot(
	ctx context.Context, m *dynamo.Meter, pid string, each func(seq int64, damage error) error,
) error {
	var stopped error
	err := j.Saved.Each(ctx, m, pid, snapshots.Everything(), 0, func(s layout.Snapshot, damage error) bool {
		if damage == nil {
			damage = j.checkState(ctx, &s)
		}
		stopped = each(s.SequenceNr, damage)
		return stopped == nil
	})
	if errors.Is(err, dynamo.ErrTableNotFound) {
		return nil
	}
	return errors.Join(err, stopped)
}

// checkState does for a snapshot what checkPayload does for an event.
func (j *Journal) checkState(ctx context.Context, s *layout.Snapshot) error {
	stored := serialization.Payload{SerializerID: s.SerializerID, Manifest: s.Manifest, Bytes: s.Bytes}
	_, err := j.Serialization.Decode(ctx, stored)
	switch {
	case isUndecodable(err):
		return j.Serialization.WellFormed(stored)
	case err != nil:
		return fmt.Errorf("decode the snapshot of %q at %d: %w", s.PersistenceID, s.SequenceNr, err)
	}
	return nil
}

// isUndecodable reports whether a payload can't be decoded because the registry lacks its
// serializer or its payload store.
func isUndecodable(err error) bool {
	return errors.Is(err, serialization.ErrUnknownSerializer) || errors.Is(err, serialization.ErrNoPayloadStore)
}
