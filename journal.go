package dynajournal

import (
	"context"
	"log/slog"
	"net/url"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Journal is an open journal. It is safe for concurrent use, and a process needs only one. Close it
// when it is no longer used.
type Journal struct {
	handle

	core *core.Journal
}

// handle gives the other packages of this module access to the core.
type handle = core.Handle[Event]

// Open opens a journal whose tables exist: see [CreateTables]. It reads the table's description and
// the journal's header, and checks them against the configuration.
//
// Errors: [ErrInvalidArgument], [ErrTableNotFound], [ErrTableSchema], [ErrHeaderMismatch],
// [ErrNoHeader], and request errors.
func Open(ctx context.Context, config Config) (*Journal, error) {
	client, err := config.connect()
	if err != nil {
		return nil, err
	}
	opened, err := core.Open(ctx, client, config.options())
	if err != nil {
		client.Close()
		return nil, err
	}
	j := &Journal{handle: core.NewHandle(opened, eventOf), core: opened}
	j.logConfig(ctx, &config)
	return j, nil
}

// options returns the core's options. The configuration is complete.
func (c *Config) options() *core.Options {
	return &core.Options{
		Journal:                   *c.provision(),
		MaxBatchEvents:            c.MaxBatchEvents,
		MaxBatchBytes:             c.MaxBatchBytes,
		MaxBatchWrite:             c.MaxBatchWrite,
		MaxItemSize:               c.MaxItemSize,
		MaxSnapshotBytes:          c.MaxSnapshotBytes,
		Parallelism:               c.ReplayParallelism,
		ConnectAhead:              c.ConnectAhead,
		AttemptTimeout:            c.AttemptTimeout,
		OperationTimeout:          c.OperationTimeout,
		HandoverTime:              c.HandoverTime,
		HoleWait:                  c.HoleWait,
		OnHole:                    c.onHole(),
		OnLoss:                    c.onLoss(),
		OnOperation:               c.onOperation(),
		OnSeal:                    c.onSeal(),
		Enveloped:                 c.OldEventFormat,
		EnvelopedSnapshots:        c.OldSnapshotFormat,
		CompressedSnapshots:       c.SnapshotCompression,
		SnapshotNewestByTimestamp: c.SnapshotNewestByTimestamp,
		Metadata:                  c.metadataStored,
		GroupCommit:               c.GroupCommit == GroupCommitAuto,
		DecodeEagerly:             c.DecodeEagerly,
		Adapter:                   c.Adapter,
		Serialization:             c.Serialization,
		Clock:                     *core.ClockIn(&c.configParts),
		Logger:                    c.Logger,
		PublicError:               public,
	}
}

// Close closes the journal. It stops reads at once, and waits up to Config.OperationTimeout for
// appends that were sent. From then on calls return [ErrClosed]. A second Close does nothing. The
// error is always nil.
//
// Close does not wait for the caller's own code: the body of a loop over events, a Recover handler,
// the iterator passed to PutRecords, a Pace function. That code may call Close: when it returns,
// the loop or the call ends with ErrClosed. Close must not be called from a Hook, a serializer or a
// Logger: they are part of an operation, and Close waits for operations.
func (j *Journal) Close() error {
	j.core.Close()
	return nil
}

// Native reports whether the journal is native: created by [CreateTables] for this package alone. A
// journal that is not native is shared with a JVM.
func (j *Journal) Native() bool { return j.core.Native() }

// SequenceShards returns the number of shards of the journal's high and low marks.
func (j *Journal) SequenceShards() int { return int(j.core.Header.Shards) }

func (j *Journal) logConfig(ctx context.Context, c *Config) {
	c.Logger.LogAttrs(ctx, slog.LevelDebug, "journal opened",
		slog.String("event", "journal.opened"), slog.String("journal_name", c.JournalName), slog.String("journal_table", c.JournalTable),
		slog.String("snapshot_table", c.SnapshotTable), slog.String("kind", j.core.Header.Kind),
		slog.Int("sequence_shards", j.SequenceShards()), slog.String("endpoint", withoutPassword(c.Endpoint)),
		slog.String("region", c.AWS.Region), slog.Int("max_connections", c.MaxConnections),
		slog.Int("max_item_size", c.MaxItemSize), slog.Int("replay_parallelism", c.ReplayParallelism),
		slog.Int("retries", c.Retries), slog.Bool("group_commit", c.GroupCommit == GroupCommitAuto),
		slog.Duration("operation_timeout", c.OperationTimeout), slog.Duration("attempt_timeout", c.AttemptTimeout),
		slog.Duration("fence_window", j.core.FenceWindow), slog.Duration("hole_wait", c.HoleWait))
}

// withoutPassword returns a URL without its password, or "" if text can't be parsed.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "" // text may contain a password
	}
	return u.Redacted()
}
