package dynajournal

import (
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// Defaults of Config fields. Where the reference configurations of the plug-ins have a default, it
// is the same, except for DefaultMaxItemSize.
const (
	DefaultAttemptTimeout    = 4 * time.Second
	DefaultBackoffBase       = time.Millisecond
	DefaultBackoffCap        = time.Second
	DefaultConnectTimeout    = 10 * time.Second
	DefaultFenceWindow       = 24 * time.Hour
	DefaultHandoverTime      = time.Minute
	DefaultHoleWait          = time.Minute
	DefaultIDsIndexName      = "persistence-ids-idx"
	DefaultJournalName       = "journal"
	DefaultJournalTable      = "pekko-persistence"
	DefaultMaxBatchBytes     = 64 << 20
	DefaultMaxBatchEvents    = 10_000
	DefaultMaxBatchGet       = 100
	DefaultMaxBatchWrite     = 25
	DefaultMaxConnections    = 50
	DefaultMaxItemSize       = 400 << 10
	DefaultMaxSnapshotBytes  = 64 << 20
	DefaultOperationTimeout  = 10 * time.Second
	DefaultReplayParallelism = 16
	DefaultRetries           = 10
	DefaultSequenceShards    = 10
	DefaultSnapshotTable     = "pekko-persistence-snapshot"
)

// complete fills in the defaults and checks the configuration. Its error is an *ArgumentError.
func (c *Config) complete() error {
	orDefault(&c.AttemptTimeout, DefaultAttemptTimeout)
	orDefault(&c.BackoffBase, DefaultBackoffBase)
	orDefault(&c.BackoffCap, DefaultBackoffCap)
	orDefault(&c.HandoverTime, DefaultHandoverTime)
	orDefault(&c.HTTP.ConnectTimeout, DefaultConnectTimeout)
	orDefault(&c.HoleWait, DefaultHoleWait)
	orDefault(&c.IDsIndexName, DefaultIDsIndexName)
	orDefault(&c.JournalName, DefaultJournalName)
	orDefault(&c.JournalTable, DefaultJournalTable)
	orDefault(&c.MaxBatchBytes, DefaultMaxBatchBytes)
	orDefault(&c.MaxBatchEvents, DefaultMaxBatchEvents)
	orDefault(&c.MaxBatchGet, DefaultMaxBatchGet)
	orDefault(&c.MaxBatchWrite, DefaultMaxBatchWrite)
	orDefault(&c.MaxConnections, DefaultMaxConnections)
	orDefault(&c.MaxItemSize, DefaultMaxItemSize)
	orDefault(&c.MaxSnapshotBytes, DefaultMaxSnapshotBytes)
	orDefault(&c.OperationTimeout, DefaultOperationTimeout)
	orDefault(&c.ReplayParallelism, DefaultReplayParallelism)
	orDefault(&c.Retries, DefaultRetries)
	orDefault(&c.SnapshotTable, DefaultSnapshotTable)
	c.Retries = max(c.Retries, 0)
	if at := core.ClockIn(&c.configParts); *at == nil {
		*at = clock.System()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Serialization == nil {
		c.Serialization = serialization.NewRegistry()
	}
	return c.check()
}

// orDefault sets a zero field to its default.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
