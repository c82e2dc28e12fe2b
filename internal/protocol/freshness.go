package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// A deleted number is free again after the fence window. So a writer may rely on its knowledge of
// the journal only for a part of the window, and the expiry of a tombstone must be recent when it
// is put. The parts add up to less than the window, which is at least an hour: half of it for a
// writer's knowledge, a tenth for an expiry, a tenth for a clock that is off, and the 15 minutes
// for which the service accepts a signed request.
const (
	knowledgePart = layout.KnowledgePart
	expiryPart    = 10
	clockPart     = 10
)

// checkAge fails if knowledge from a moment is too old for a write. It is called before every
// attempt of a write, because the machine can sleep while a request waits.
func (j *Journal) checkAge(known clock.Moment) error { return j.checkAgeAt(known, j.Clock.Now()) }

// checkAgeAt does the same as checkAge, but takes the current time.
func (j *Journal) checkAgeAt(known, now clock.Moment) error {
	if known.Until(now) > j.FenceWindow/knowledgePart {
		return ErrTooLate
	}
	return nil
}

// fresh returns a check for requests that fails if knowledge from a moment is too old for a write.
func (j *Journal) fresh(known clock.Moment) func() error {
	return func() error {
		return j.checkAge(known)
	}
}

// freshFromNow returns a check for writes that rely on reads from now on.
func (j *Journal) freshFromNow() func() error { return j.fresh(j.Clock.Now()) }

// errExpiryStale reports that an expiry was computed too long ago. The attempt was not sent, and
// can be repeated with a new expiry.
var errExpiryStale = fmt.Errorf("%w: the expiry is too old to be put", ErrTooLate)

// expiry returns the expiry of an item that is put now, in seconds since 1970, and a check that the
// expiry is still recent.
func (j *Journal) expiry() (expires int64, fresh func() error) {
	computed := j.Clock.Now()
	return j.TombstoneExpiry(), func() error {
		if j.Clock.Since(computed) > j.FenceWindow/expiryPart {
			return errExpiryStale
		}
		return nil
	}
}

// putWithExpiry puts an item that expires, and tries again with a new expiry if the old one became
// stale before it was sent. If an attempt may have been applied, it does not try again: the caller
// would not know which expiry is stored.
func putWithExpiry(j *Journal, put func(expires int64, fresh func() error) error) error {
	for {
		err := put(j.expiry())
		if !errors.Is(err, errExpiryStale) || dynamo.MaybeApplied(err) {
			return err
		}
	}
}

// TombstoneExpiry returns the expiry of a tombstone that is put now, in seconds since 1970. It is
// counted from the later of the local time and the service's, because the service removes expired
// items: with a slow local clock the tombstone would expire early.
func (j *Journal) TombstoneExpiry() int64 {
	return j.Clock.Latest().Add(j.FenceWindow).Unix() + 1
}

// CheckClock fails with a *ClockError if the local clock and the service's were too far apart in
// the last response since a moment. An older response proves nothing: the clock may have been
// corrected since, or the machine may have slept.
func (j *Journal) CheckClock(since clock.Moment) error {
	local, service, ok := j.Clock.Compared(since)
	if !ok {
		return nil
	}
	limit := j.FenceWindow / clockPart
	if offset := local.Sub(service).Round(time.Second); offset.Abs() > limit {
		return &ClockError{Local: local, Service: service, Offset: offset, Limit: limit}
	}
	return nil
}

// both returns a check that fails if a or b fails.
func both(a, b func() error) func() error {
	return func() error {
		if err := a(); err != nil {
			return err
		}
		return b()
	}
}
