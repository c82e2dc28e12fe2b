package projection

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Config configures a group. Only Name is required.
type Config struct {
	// AllowReplicas lets the group run on a journal table with replicas in other Regions. Set it
	// only if one Region alone writes the journal and runs its projections: the conditions of
	// writes do not hold across Regions otherwise, and events can be lost, or handled in two
	// Regions. They do hold if both the journal table and the projections table are strongly
	// consistent in several Regions. But such tables have no transactions, so projections that are
	// [Transactional], and those that begin [FromNow], fail: docs/guarantees.md has a section about
	// global tables.
	//
	// Defaults to false: that is [ErrReplicated]. If dynamodb:DescribeTable is denied, it is not
	// checked.
	AllowReplicas bool

	// Attempts is how often a handler is called for an event at least before the persistence id is
	// stuck. StuckAfter is the time for which it must have failed.
	//
	// At least 1. Defaults to 5.
	Attempts int

	// BatchSize is how many events are read at once at most, and usually handled under one claim.
	// Fewer need less memory; more cost fewer writes while a projection catches up.
	//
	// From 1 to 10,000. Defaults to 100.
	BatchSize int

	// ClaimTimeout is how long a claim must not move before its process counts as dead. A handler
	// that runs in a process that was wrongly taken for dead overlaps with another one. A third of
	// it bounds a call of a handler: the context of the call ends then. Raise it if handlers take
	// longer; lower it to continue sooner after a crash. On AWS Lambda a claim also ends with its
	// invocation.
	//
	// At least 100 milliseconds. Defaults to 1 minute.
	ClaimTimeout time.Duration

	// Concurrency is how many handlers run at the same time, each for another persistence id or
	// projection. A handler that does not return long after its context has ended is not counted,
	// so there can be twice as many. On AWS Lambda it is the number for each invocation.
	//
	// At least 1. Defaults to 16.
	Concurrency int

	// HoleWait is how long a missing sequence number before an event is waited for, in a journal
	// that is shared with a JVM: a JVM writes several events at the same time, so the missing one
	// may still come. Then it is passed, and an event that is stored there later is not handled.
	// Set it to more than any write of the JVM takes, with its retries. It delays the events after
	// numbers that the JVM has rejected, of the same persistence id only.
	//
	// Must not be negative. Defaults to 1 minute.
	HoleWait time.Duration

	// Logger receives the log records.
	//
	// Defaults to the journal's.
	Logger *slog.Logger

	// MaxWaiting is how many persistence ids of records of the stream wait in the memory of a
	// process at most. Beyond that the process reads the next records when some are done.
	// [Group.Trigger] leaves a persistence id to the source while as many wait for each projection,
	// whatever has named them. If the projections table has the index of debts, what waits for more
	// than some seconds is not in memory.
	//
	// At least 2,000. Defaults to 8,000.
	MaxWaiting int

	// Name is the name of the group, the first part of the names of its projections: billing in
	// billing/balances. Processes of the same name share their work.
	//
	// Up to 100 bytes of UTF-8, without slash and NUL.
	Name string

	// OnSweep is called with what a sweep has done, if it is set: about once a minute while
	// persistence ids get done, and at its end. Sweeps are those of [Sweep], and those that other
	// sources owe. It must not block, and may be called from several goroutines at once. The log
	// has the same.
	OnSweep func(SweepCount)

	// RetryLongest is the longest pause until a handler may be called again for the same event.
	// After some seconds a process finds such events by looking at the projections table, which can
	// take 10 seconds more. On AWS Lambda awslambda.Maintain finds them.
	//
	// Defaults to 10 seconds, or to RetryShortest if that is longer.
	RetryLongest time.Duration

	// RetryShortest is the pause after the first failure. In the first seconds it doubles with each
	// further failure, up to RetryLongest, and is up to half shorter at random. Later the pause is
	// half of the time for which the persistence id has waited, from RetryShortest to RetryLongest.
	//
	// Defaults to 100 milliseconds.
	RetryShortest time.Duration

	// StuckAfter is for how long a handler must have failed for an event before the persistence id
	// is stuck, so that what passes by itself within this time makes nothing stuck. The handler is
	// called again and again meanwhile, also more often than Attempts. Where the projections table
	// has no index of debts, Attempts alone count.
	//
	// Negative: Attempts alone count. Defaults to 5 minutes.
	StuckAfter time.Duration

	// Source finds the persistence ids that have events.
	//
	// Defaults to Sweep(SweepOptions{}).
	Source Source
}

// The defaults of a configuration.
const (
	defaultAttempts      = 5
	defaultBatchSize     = 100
	defaultClaimTimeout  = time.Minute
	defaultConcurrency   = 16
	defaultHoleWait      = time.Minute
	defaultMaxWaiting    = 8_000
	defaultRetryLongest  = 10 * time.Second
	defaultRetryShortest = 100 * time.Millisecond
	defaultStuckAfter    = 5 * time.Minute
)

// minMaxWaiting is the least Config.MaxWaiting: a page of the stream has up to 1,000 persistence
// ids.
const minMaxWaiting = 2_000

const maxBatchSize = 10_000

// complete checks the configuration, and returns it with the defaults.
func (c *Config) complete(journal *core.Journal) (engine.Settings, error) {
	if err := engine.CheckName("Config.Name", c.Name); err != nil {
		return engine.Settings{}, err
	}
	for _, field := range []struct {
		name                   string
		value                  *int
		otherwise, least, most int
	}{
		{"Config.Attempts", &c.Attempts, defaultAttempts, 1, math.MaxInt32},
		{"Config.BatchSize", &c.BatchSize, defaultBatchSize, 1, maxBatchSize},
		{"Config.Concurrency", &c.Concurrency, defaultConcurrency, 1, math.MaxInt32},
		{"Config.MaxWaiting", &c.MaxWaiting, defaultMaxWaiting, minMaxWaiting, math.MaxInt32},
	} {
		if *field.value == 0 {
			*field.value = field.otherwise
		}
		if *field.value < field.least || *field.value > field.most {
			return engine.Settings{}, engine.Argument(field.name, *field.value,
				fmt.Sprintf("it must be from %d to %d", field.least, field.most))
		}
	}
	for _, field := range []struct {
		name             string
		value            *time.Duration
		otherwise, least time.Duration
	}{
		{"Config.ClaimTimeout", &c.ClaimTimeout, defaultClaimTimeout, engine.MinClaimTimeout},
		{"Config.HoleWait", &c.HoleWait, defaultHoleWait, 1},
		{"Config.RetryShortest", &c.RetryShortest, defaultRetryShortest, 1},
		{"Config.RetryLongest", &c.RetryLongest, max(defaultRetryLongest, c.RetryShortest), c.RetryShortest},
		{"Config.StuckAfter", &c.StuckAfter, defaultStuckAfter, math.MinInt64},
	} {
		if *field.value == 0 {
			*field.value = field.otherwise
		}
		if *field.value < field.least {
			return engine.Settings{}, engine.Argument(field.name, *field.value, fmt.Sprintf("it must be at least %v", field.least))
		}
	}
	if c.Logger == nil {
		c.Logger = journal.Logger
	}
	source := engine.SourceOf(&c.Source)
	if source == nil {
		source = &engine.Sweep{}
	}
	of := engine.Settings{
		AllowReplicas: c.AllowReplicas, Attempts: c.Attempts, BatchSize: c.BatchSize, ClaimTimeout: c.ClaimTimeout,
		Concurrency: c.Concurrency, HoleWait: c.HoleWait, Logger: c.Logger, MaxWaiting: c.MaxWaiting, Name: c.Name,
		RetryLongest: c.RetryLongest, RetryShortest: c.RetryShortest, Source: source, StuckAfter: c.StuckAfter,
		PublicError: public,
	}
	if c.OnSweep != nil {
		of.OnSweep = func(count engine.SweepCount) { c.OnSweep(SweepCount(count)) }
	}
	return of, source.Check()
}
