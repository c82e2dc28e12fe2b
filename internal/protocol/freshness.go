package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// A deleted number is free again after the fence window. So what was read of the journal may be
// written by for a part of the window only, and the expiry of a tombstone must be young when it is
// put. The parts add up to less than the window, which is an hour at least: half of it for the
// knowledge of a writer, a tenth for an expiry, a tenth for a clock that is off, and 15 minutes for
// which the service takes a signed request.
const (
	knowledgePart = 2
	expiryPart    = 10
	clockPart     = 10
)

// checkAge fails if what was known at a moment is too old to write by. It is called before every
// attempt of a write, as the machine can sleep while a request waits or pauses.
func (j *Journal) checkAge(known clock.Moment) error {
	if safeguard.IdleLook && j.Clock.Since(known) > j.FenceWindow/knowledgePart {
		return ErrTooLate
	}
	return nil
}

// fresh is checkAge as the check of a request.
func (j *Journal) fresh(known clock.Moment) func() error {
	return func() error {
		if !safeguard.FreshRemovals {
			return nil
		}
		return j.checkAge(known)
	}
}

// freshFromNow is the check of writes by what is read from now on.
func (j *Journal) freshFromNow() func() error { return j.fresh(j.Clock.Now()) }

// errExpiryOld says that an expiry was computed too long ago to be put: the attempt was not sent,
// and can be made anew.
var errExpiryOld = fmt.Errorf("%w: the expiry is too old to be put", ErrTooLate)

// expiry is when what is put now may vanish, in seconds since 1970, and the check of attempts to
// put that.
func (j *Journal) expiry() (expires int64, young func() error) {
	computed := j.Clock.Now()
	return j.TombstoneExpiry(), func() error {
		if safeguard.YoungExpiry && j.Clock.Since(computed) > j.FenceWindow/expiryPart {
			return errExpiryOld
		}
		return nil
	}
}

// whileYoung puts something that expires, anew where the expiry has become too old before it was
// sent. What may have been put with an older expiry is not put again: the caller does not know
// which one is stored.
func whileYoung(j *Journal, put func(expires int64, young func() error) error) error {
	for {
		err := put(j.expiry())
		if !errors.Is(err, errExpiryOld) || dynamo.MaybeApplied(err) {
			return err
		}
	}
}

// TombstoneExpiry is when a tombstone that is put now may vanish, in seconds since 1970. It is
// counted from the later of the local clock and the service's, which removes what has expired: a
// clock that is slow must not let it vanish early.
func (j *Journal) TombstoneExpiry() int64 {
	if !safeguard.LatestClock {
		return j.Clock.Wall().Add(j.FenceWindow).Unix() + 1
	}
	return j.Clock.Latest().Add(j.FenceWindow).Unix() + 1
}

// checkClock fails with a *ClockError if the local clock and the service's were too far apart in
// the last answer since a moment. An older answer says nothing: the clock may have been corrected
// since, or the machine may have slept.
func (j *Journal) checkClock(since clock.Moment) error {
	local, service, ok := j.Clock.Compared(since)
	if !ok || !safeguard.ClockOff {
		return nil
	}
	limit := j.FenceWindow / clockPart
	if offset := local.Sub(service).Round(time.Second); offset.Abs() > limit {
		return &ClockError{Local: local, Service: service, Offset: offset, Limit: limit}
	}
	return nil
}

// both is a check that fails if either does.
func both(a, b func() error) func() error {
	return func() error {
		if err := a(); err != nil {
			return err
		}
		return b()
	}
}
