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
	// only if a single Region writes the journal and runs its projections. Otherwise the conditions
	// of writes do not hold across Regions, and events can be lost, or handled in two Regions. They
	// do hold if both the journal table and the projections table have multi-Region strong
	// consistency. But such tables have no transactions, so projections that are [Transactional] or
	// use [FromNow] fail: docs/guarantees.md has a section about global tables.
	//
	// Defaults to false: a table with replicas makes the group fail with [ErrReplicated]. If
	// dynamodb:DescribeTable is denied, replicas are not checked.
	AllowReplicas bool

	// Attempts is the minimum number of times that a handler is called for an event before the
	// persistence id becomes stuck. The handler must also have failed for StuckAfter.
	//
	// At least 1. Defaults to 5.
	Attempts int

	// BatchSize is the maximum number of events that are read at once, and usually handled under
	// one claim. Smaller batches need less memory; larger ones need fewer writes while a projection
	// catches up.
	//
	// From 1 to 10,000. Defaults to 100.
	BatchSize int

	// ClaimTimeout is the time without a change of a claim after which its process counts as dead.
	// If the process is alive after all, its handler overlaps with another one. The context of a
	// call of a handler ends after a third of ClaimTimeout. Raise it if handlers take longer; lower
	// it to continue sooner after a crash. On AWS Lambda a claim also ends with its invocation.
	//
	// At least 100 milliseconds. Defaults to 1 minute.
	ClaimTimeout time.Duration

	// Concurrency is the maximum number of handlers that run at the same time, each for another
	// persistence id or projection. A handler that has not returned long after its context ended is
	// not counted, so there can be twice as many. On AWS Lambda the limit applies to each
	// invocation.
	//
	// At least 1. Defaults to 16.
	Concurrency int

	// HoleWait is how long a projection waits for a missing sequence number before an event, in a
	// journal that is shared with a JVM: a JVM writes several events at the same time, so the
	// missing one may still be written. After that the number is passed, and an event that is
	// stored there later is not handled. Set it to more than any write of the JVM takes, including
	// retries. A number that the JVM has rejected delays the later events of the same persistence
	// id by HoleWait.
	//
	// Must not be negative. Defaults to 1 minute.
	HoleWait time.Duration

	// Hooks are called when something happens: for metrics and traces, and for the progress of
	// sweeps.
	Hooks []Hook

	// Logger receives the log records.
	//
	// Defaults to the journal's logger.
	Logger *slog.Logger

	// MaxWaiting is the maximum number of persistence ids from stream records that wait in the
	// memory of a process. At the limit the process reads more records only when some persistence
	// ids are done. [Group.Trigger] leaves a persistence id to the source while MaxWaiting
	// persistence ids wait for each projection, whatever triggered them. If the projections table
	// has the index of debts, persistence ids that wait for more than some seconds are stored and
	// not in memory.
	//
	// At least 2,000. Defaults to 8,000.
	MaxWaiting int

	// Name is the name of the group, and the first part of the names of its projections: billing in
	// billing/balances. Processes of the same name share their work.
	//
	// Up to 100 bytes of UTF-8, without slash and NUL.
	Name string

	// RetryLongest is the longest pause until a handler may be called again for the same event.
	// After some seconds a process finds such events by polling the projections table, which can
	// take 10 seconds more. On AWS Lambda awslambda.Maintain finds them.
	//
	// Defaults to 10 seconds, or to RetryShortest if that is longer.
	RetryLongest time.Duration

	// RetryShortest is the pause after the first failure. In the first seconds the pause doubles
	// with each further failure, up to RetryLongest, and is shortened at random by up to half.
	// Later the pause is half of the time for which the persistence id has waited, from
	// RetryShortest to RetryLongest.
	//
	// Defaults to 100 milliseconds.
	RetryShortest time.Duration

	// StuckAfter is how long a handler must have failed for an event before the persistence id
	// becomes stuck. So a failure that passes by itself within this time makes nothing stuck.
	// Meanwhile the handler is called again and again, even more often than Attempts. If the
	// projections table has no index of debts, only Attempts counts.
	//
	// Negative means that only Attempts counts. Defaults to 5 minutes.
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

// minMaxWaiting is the smallest Config.MaxWaiting: a page of the stream has up to 1,000 persistence
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
		PublicError: public, Hooks: c.hooks(),
	}
	return of, source.Check()
}
