package engine

import (
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// Settings are a complete projection.Config.
type Settings struct {
	AllowReplicas                                                   bool
	Attempts, BatchSize, Concurrency, MaxWaiting                    int
	ClaimTimeout, HoleWait, RetryLongest, RetryShortest, StuckAfter time.Duration
	Logger                                                          *slog.Logger
	Name                                                            string
	OnSweep                                                         func(SweepCount)
	Source                                                          Source
	// PublicError returns the form of an error that users see.
	PublicError func(error) error
}

// MinClaimTimeout is the least Config.ClaimTimeout, and the least LeaseTimeout of a stream.
const MinClaimTimeout = 100 * time.Millisecond

// Renewals is how often a process says something again within the time for which it counts.
const Renewals = 6

// TrustedFor is how long a consumer of a stream may be away without a sweep. A stream keeps records
// for 24 hours.
const TrustedFor = 12 * time.Hour

// retries returns the pauses before retries, without their random part.
func (c *Settings) retries() backoff.Pauses {
	return backoff.Pauses{Shortest: c.RetryShortest, Longest: c.RetryLongest}
}

// handlerShare is the part of Config.ClaimTimeout for which a run begins to handle events, and
// again that for which one call may last. So a run ends before its claim counts as dead.
const handlerShare = 3

// payEvery returns the pause after which a process looks for debts again.
func (c *Settings) payEvery() time.Duration { return min(c.ClaimTimeout/Renewals, longestWatch) }

// patience returns how long a trigger waits at most before a debt is stored for it.
func (c *Settings) patience() time.Duration { return c.payEvery() / 2 }

// CallTime returns how long a call of a handler may last.
func (c *Settings) CallTime() time.Duration { return c.ClaimTimeout / handlerShare }
