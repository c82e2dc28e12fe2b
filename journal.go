package dynajournal

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// Journal is an open journal. It is safe for concurrent use; one serves a whole process. Close it
// at the end.
type Journal struct {
	config Config
	client *dynamo.Client
	group  *dynamo.Group
	store  *protocol.Store
	// protocol is what the journal's writers share.
	protocol *protocol.Journal
	saved    *snapshots.Store
	ids      *ids.Store
	// hasIndex reports that the index of persistence ids was found to exist, and to be filled.
	hasIndex atomic.Bool
	header   layout.Header
	// keyLimit is the smallest limit in bytes that applies to the attribute par.
	keyLimit  int
	clock     *clock.Clock
	life      lifetime.Lifetime
	admission lifetime.Admission
}

// Open opens a journal whose tables exist (see CreateTables). It reads the journal's header and the
// table's description, and checks that they fit the configuration.
//
// Errors: ErrInvalidArgument, ErrTableNotFound, ErrTableSchema, ErrHeaderMismatch, and those of any
// request.
func Open(ctx context.Context, config Config) (*Journal, error) {
	client, err := config.connect()
	if err != nil {
		return nil, err
	}
	j := &Journal{config: config, client: client, clock: config.clock}
	if err := j.inspect(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("open journal %q in table %q: %w", config.JournalName, config.JournalTable, err)
	}
	j.store = &protocol.Store{
		Client:         client,
		Table:          config.JournalTable,
		Keys:           j.keys(),
		IDsShards:      j.header.IDsShards,
		MaxBatchEvents: config.MaxBatchEvents,
		Parallelism:    config.ReplayParallelism,
		Go:             j.life.Go,
	}
	j.ids = &ids.Store{
		Client:    client,
		Table:     config.JournalTable,
		Keys:      j.keys(),
		IDsShards: j.header.IDsShards,
		Index:     config.IDsIndexName,
		Go:        j.life.Go,
	}
	j.saved = &snapshots.Store{
		Client:      client,
		Table:       config.SnapshotTable,
		Keys:        j.keys(),
		MaxItemSize: config.MaxItemSize,
		MaxBytes:    config.MaxSnapshotBytes,
		Parallelism: config.ReplayParallelism,
		Envelope:    config.OldSnapshotFormat,
		Compress:    config.SnapshotCompression,
	}
	j.life.Open(ErrClosed)
	j.admission.Open(client.MaxInFlight())
	j.group = client.NewGroup(dynamo.GroupOptions{
		Table:    config.JournalTable,
		Context:  j.life.Writing(),
		Off:      config.GroupCommit == GroupCommitOff,
		Refused:  j.logGroupCommitOff,
		Accepted: j.logGroupCommitOn,
	})
	j.protocol = protocol.New(protocol.Journal{
		Settings: protocol.Settings{
			MaxBatchEvents: config.MaxBatchEvents,
			MaxBatchBytes:  config.MaxBatchBytes,
			MaxItemSize:    config.MaxItemSize,
			MaxBatchWrite:  config.MaxBatchWrite,
			FenceWindow:    j.config.FenceWindow,
			HandoverTime:   config.HandoverTime,
			Enveloped:      config.OldEventFormat,
			Logger:         config.Logger,
		},
		Store:     j.store,
		Snapshots: j.saved,
		Group:     j.group,
		Clock:     j.clock,
		Life:      &j.life,
	})
	if config.LogConfig {
		j.logConfig(ctx)
	}
	return j, nil
}

// Close ends the journal: reading stops at once, appends that were sent are waited for, up to
// Config.OperationTimeout. Everything that is called afterwards returns ErrClosed. Closing twice
// does nothing.
//
// Close does not wait for the caller's own code: the body of a loop over events, a Recover handler,
// the source of PutRecords, a Pace. It may be called there, too. Such a loop or call ends with
// ErrClosed when its code returns. Only in a Hook, a serializer or a Logger it must not be called:
// they are part of the operation that Close waits for.
func (j *Journal) Close() error {
	j.life.Close(j.config.OperationTimeout)
	j.group.Close()
	j.client.Close()
	return nil
}

// Native reports whether the journal is of the native kind, made by CreateTables for Go alone. The
// other kind is shared with a JVM.
func (j *Journal) Native() bool { return j.header.Kind == layout.KindNative }

// SequenceShards is the number of shards of the marks in use.
func (j *Journal) SequenceShards() int { return int(j.header.Shards) }

func (j *Journal) keys() layout.Keys {
	return layout.Keys{Journal: j.config.JournalName, Shards: j.header.Shards}
}

// inspect reads what the table and the journal's header say.
func (j *Journal) inspect(ctx context.Context) error {
	found, err := j.config.provision().Inspect(ctx, j.client)
	if err != nil {
		return public(err)
	}
	j.header, j.keyLimit = found.Header, found.KeyLimit
	j.config.FenceWindow = time.Duration(j.header.FenceWindow) * time.Second
	j.hasIndex.Store(found.Indexed)
	return nil
}

// checkReadable returns why nothing can be stored for a persistence id. A JVM writes ids that
// checkID refuses, as long as the keys of their first numbers fit.
func (j *Journal) checkReadable(pid string) error {
	if err := j.store.Keys.CheckReadable(pid); err != nil {
		return &ArgumentError{"persistence id", pid, err.Error()}
	}
	return nil
}

// checkID says why a persistence id can't be stored in this journal, now or at its last sequence
// number.
func (j *Journal) checkID(pid string) error {
	err := j.store.Keys.CheckPersistenceID(pid, j.keyLimit)
	if err == nil && j.Native() {
		err = j.store.Keys.CheckIDsKey(pid)
	}
	if err != nil {
		return &ArgumentError{"persistence id", pid, err.Error()}
	}
	return nil
}

func (j *Journal) logConfig(ctx context.Context) {
	c := j.config
	c.Logger.LogAttrs(ctx, slog.LevelInfo, "journal opened",
		slog.String("journal_name", c.JournalName), slog.String("journal_table", c.JournalTable), slog.String("snapshot_table", c.SnapshotTable),
		slog.String("kind", j.header.Kind), slog.Int64("sequence_shards", j.header.Shards), slog.String("endpoint", c.Endpoint),
		slog.String("region", c.AWS.Region), slog.Int("max_connections", c.MaxConnections), slog.Int("max_item_size", c.MaxItemSize),
		slog.Int("replay_parallelism", c.ReplayParallelism), slog.Int("retries", c.Retries), slog.Bool("group_commit", c.GroupCommit == GroupCommitAuto),
		slog.Duration("operation_timeout", c.OperationTimeout), slog.Duration("attempt_timeout", c.AttemptTimeout),
		slog.Duration("fence_window", c.FenceWindow), slog.Duration("hole_wait", c.HoleWait))
}

// logGroupCommitOff logs that the service refuses what group commit needs, so that each event is
// put by a request of its own.
func (j *Journal) logGroupCommitOff(why error) {
	j.config.Logger.LogAttrs(context.Background(), slog.LevelWarn, "group commit is off: the service refuses PartiQL inserts, events go singly",
		slog.String("journal_table", j.config.JournalTable), slog.Any("error", why))
}

// logGroupCommitOn logs that the service accepts again what group commit needs.
func (j *Journal) logGroupCommitOn() {
	j.config.Logger.LogAttrs(context.Background(), slog.LevelInfo, "group commit is on again: the service accepts PartiQL inserts",
		slog.String("journal_table", j.config.JournalTable))
}
