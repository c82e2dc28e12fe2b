package dynajournal

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/provision"
	"github.com/dynajournal/dynajournal/internal/snapshots"
	"github.com/dynajournal/dynajournal/internal/states"
)

// Journal is an open journal. It is safe for concurrent use: a process needs one. Close it at the
// end.
type Journal struct {
	config Config
	client *dynamo.Client
	group  *dynamo.Group
	store  *protocol.Store
	// protocol is the state that all writers of the journal share.
	protocol *protocol.Journal
	saved    *snapshots.Store
	states   *states.Store
	ids      *ids.Store
	// upcasters has the upcasters of the types of entities.
	upcasters upcasters
	// hasIndex is true once the index of persistence ids is known to exist and to be filled.
	hasIndex atomic.Bool
	header   layout.Header
	// keyLimit is the largest size of the attribute par in bytes, in the table and its indexes.
	keyLimit  int
	clock     *clock.Clock
	life      lifetime.Lifetime
	admission lifetime.Admission
}

// Open opens a journal whose tables exist: see [CreateTables]. It reads the table's description and
// the journal's header, and checks them against the configuration.
//
// Errors: [ErrInvalidArgument], [ErrTableNotFound], [ErrTableSchema], [ErrHeaderMismatch],
// [ErrNoHeader], and those of requests.
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
		ServiceTime:    j.clock.Service,
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
	j.states = &states.Store{
		Client:      client,
		Table:       config.SnapshotTable,
		Keys:        j.keys(),
		MaxItemSize: config.MaxItemSize,
		MaxBytes:    config.MaxSnapshotBytes,
		Parallelism: config.ReplayParallelism,
		Clock:       j.clock,
		FenceWindow: j.config.FenceWindow,
	}
	j.life.Open(ErrClosed)
	j.admission.Open(client.MaxInFlight())
	j.group = client.NewGroup(dynamo.GroupOptions{
		Table:      config.JournalTable,
		Context:    j.life.Writing(),
		Off:        config.GroupCommit == GroupCommitOff,
		IndexBytes: j.indexBytes,
		Refused:    j.logGroupCommitOff,
		Accepted:   j.logGroupCommitOn,
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
			Metadata:       config.metadataStored(j.store.Shared()),
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
	j.connectAhead(ctx)
	return j, nil
}

// Close closes the journal. It stops readings at once, and waits for appends that were sent, up to
// Config.OperationTimeout. Calls return [ErrClosed] from then on. A second Close does nothing. The
// error is always nil.
//
// Close does not wait for the caller's own code: the body of a loop over events, a Recover handler,
// the records of PutRecords, a Pace function. It may be called from there; the loop or the call
// ends with ErrClosed when that code returns. It must not be called from a Hook, a serializer or a
// Logger: these are part of an operation, for which Close waits.
func (j *Journal) Close() error {
	j.life.Close(j.config.OperationTimeout)
	j.group.Close()
	j.client.Close()
	return nil
}

// Native reports whether the journal is native: made by CreateTables for this package alone.
// Otherwise it is shared with a JVM.
func (j *Journal) Native() bool { return j.header.Kind == layout.KindNative }

// indexBytes returns the size of an item's entry in the index of persistence ids.
func (j *Journal) indexBytes(item dynamo.Attributes) int {
	if !j.Native() && !j.hasIndex.Load() {
		return 0
	}
	return layout.IDsEntrySize(item, j.Native())
}

// SequenceShards returns the number of shards of the marks that is in use.
func (j *Journal) SequenceShards() int { return int(j.header.Shards) }

func (j *Journal) keys() layout.Keys {
	return layout.Keys{Journal: j.config.JournalName, Shards: j.header.Shards}
}

// inspect reads the table's description and the journal's header, and checks them. It warns of
// replicas in other Regions.
func (j *Journal) inspect(ctx context.Context) error {
	found, err := j.config.provision().Inspect(ctx, j.client)
	if err != nil {
		return public(err)
	}
	j.header, j.keyLimit = found.Header, found.KeyLimit
	j.config.FenceWindow = time.Duration(j.header.FenceWindow) * time.Second
	j.hasIndex.Store(found.Indexed)
	if len(found.Replication.Regions) > 0 {
		j.warnOfReplicas(ctx, found.Replication)
	}
	return nil
}

// warnOfReplicas logs what a replicated table does not have. docs/guarantees.md has the sources.
func (j *Journal) warnOfReplicas(ctx context.Context, r provision.Replication) {
	lacks := "the conditions of writes hold in one Region only: two Regions can both write a sequence number, and one " +
		"of the two events is lost. Write each persistence id in one Region only"
	if r.Strong() {
		lacks = "there is no time to live, so tombstones stay until a repair. There are no transactions, so transactional " +
			"projections need a projections table of one Region. There are no local indexes, so a JVM's snapshot " +
			"table can't be replicated this way"
	}
	j.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the journal table has replicas in other Regions",
		slog.String("table", j.config.JournalTable), slog.String("regions", strings.Join(r.Regions, ", ")),
		slog.String("consistency", r.Consistency), slog.String("lacks", lacks),
		slog.String("see", "docs/guarantees.md#global-tables"))
}

// checkReadable returns an *ArgumentError if nothing can be stored for a persistence id. A JVM
// writes ids that checkID refuses, as long as the keys of their first numbers fit.
func (j *Journal) checkReadable(pid string) error {
	if err := j.store.Keys.CheckReadable(pid); err != nil {
		return &ArgumentError{"persistence id", pid, err.Error()}
	}
	return nil
}

// checkID returns an *ArgumentError if a key of a persistence id would be too long, now or at its
// highest sequence number.
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
		slog.String("journal_name", c.JournalName), slog.String("journal_table", c.JournalTable),
		slog.String("snapshot_table", c.SnapshotTable), slog.String("kind", j.header.Kind),
		slog.Int64("sequence_shards", j.header.Shards), slog.String("endpoint", c.Endpoint),
		slog.String("region", c.AWS.Region), slog.Int("max_connections", c.MaxConnections),
		slog.Int("max_item_size", c.MaxItemSize), slog.Int("replay_parallelism", c.ReplayParallelism),
		slog.Int("retries", c.Retries), slog.Bool("group_commit", c.GroupCommit == GroupCommitAuto),
		slog.Duration("operation_timeout", c.OperationTimeout), slog.Duration("attempt_timeout", c.AttemptTimeout),
		slog.Duration("fence_window", c.FenceWindow), slog.Duration("hole_wait", c.HoleWait))
}

// logGroupCommitOff logs that the service refuses the requests of group commit, and that each event
// has a request of its own from now on.
func (j *Journal) logGroupCommitOff(why error) {
	j.config.Logger.LogAttrs(context.Background(), slog.LevelWarn,
		"group commit is off: the service refuses PartiQL inserts, events go singly",
		slog.String("journal_table", j.config.JournalTable), slog.Any("error", why))
}

// logGroupCommitOn logs that the service accepts the requests of group commit again.
func (j *Journal) logGroupCommitOn() {
	j.config.Logger.LogAttrs(context.Background(), slog.LevelInfo,
		"group commit is on again: the service accepts PartiQL inserts",
		slog.String("journal_table", j.config.JournalTable))
}
