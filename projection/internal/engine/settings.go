package engine

import (
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// Settings is a projection.Config with all defaults filled in.
type Settings struct {
	AllowReplicas                                                   bool
	Attempts, BatchSize, Concurrency, MaxWaiting                    int
	ClaimTimeout, HoleWait, RetryLongest, RetryShortest, StuckAfter time.Duration
	Logger                                                          *slog.Logger
	Name                                                            string
	Hooks                                                           Hooks
	Source                                                          Source
	// PublicError converts an error to the form that users see.
	PublicError func(error) error
}

// MinClaimTimeout is the minimum of Config.ClaimTimeout, and of LeaseTimeout of a stream.
const MinClaimTimeout = 100 * time.Millisecond

// Renewals divides a timeout into intervals: within a timeout a process renews its leases, or polls
// for debts and requests, that many times.
const Renewals = 6

// TrustedFor is how long a consumer of a stream may be away before a sweep is needed. A stream
// retains records for 24 hours.
const TrustedFor = 12 * time.Hour

// retries returns the pauses before retries, without their random part.
func (c *Settings) retries() backoff.Pauses {
	return backoff.Pauses{Shortest: c.RetryShortest, Longest: c.RetryLongest}
}

// handlerShare divides Config.ClaimTimeout: a run starts calls of the handler for a third of it,
// and each call may take another third. So a run ends before its claim counts as dead.
const handlerShare = 3

// payEvery returns the interval at which a process polls for debts.
func (c *Settings) payEvery() time.Duration { return min(c.ClaimTimeout/Renewals, longestWatch) }

// patience returns the maximum time that a trigger waits before a debt is stored for it.
func (c *Settings) patience() time.Duration { return c.payEvery() / 2 }

// CallTime returns how long a call of a handler may last.
func (c *Settings) CallTime() time.Duration { return c.ClaimTimeout / handlerShare }
