// Package core implements Journal and Writer. The root package is their public form: it has the
// documentation, the options and the errors that users see. The packages entity, projection,
// process and payloads use package core where they need more than the root exports.
//
// Exported methods return errors in their public form.
package core

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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
	"github.com/dynajournal/dynajournal/serialization"
)

// Options are the options of a Journal. The root package documents them in its Config, and has
// checked them.
type Options struct {
	// Journal has the names of the journal and its tables. Open replaces FenceWindow with the value
	// in the journal's header.
	provision.Journal

	MaxBatchEvents, MaxBatchBytes, MaxBatchWrite, MaxItemSize, MaxSnapshotBytes int

	// Parallelism is Config.ReplayParallelism.
	Parallelism  int
	ConnectAhead int

	AttemptTimeout, OperationTimeout, HandoverTime time.Duration

	// Enveloped is Config.OldEventFormat, and EnvelopedSnapshots is Config.OldSnapshotFormat.
	Enveloped, EnvelopedSnapshots, CompressedSnapshots, SnapshotNewestByTimestamp bool

	// Metadata reports whether a journal stores metadata. shared reports whether a JVM may use it.
	Metadata func(shared bool) bool

	GroupCommit, DecodeEagerly bool

	Adapter       Adapter
	Serialization *serialization.Registry
	Clock         *clock.Clock
	Logger        *slog.Logger

	// HoleWait limits the wait of a live query for missing numbers. A negative value disables
	// waiting. OnHole is called after each wait.
	HoleWait time.Duration
	OnHole   func(ctx context.Context, pid string, w protocol.Waited)

	// OnLoss is called before an operation continues past a loss. lost is the error that the
	// operation would have returned otherwise, in the form that users see.
	OnLoss func(ctx context.Context, pid string, lost error)

	// OnOperation is called after an operation, and OnSeal after a sequence number was sealed. They
	// may be nil.
	OnOperation func(ctx context.Context, operation Operation)
	OnSeal      func(ctx context.Context, pid string, seq int64)

	// PublicError returns the form of an error that users see.
	PublicError func(error) error
}

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	Options

	Client    *dynamo.Client
	Store     *protocol.Store
	Protocol  *protocol.Journal
	Saved     *snapshots.Store
	States    *states.Store
	IDs       *ids.Store
	Upcasters Upcasters
	Header    layout.Header
	Life      lifetime.Lifetime
	// HasIndex is true once the index of persistence ids is known to exist and to be filled.
	HasIndex atomic.Bool

	group     *dynamo.Group
	admission lifetime.Admission
	// keyLimit is the largest size of the attribute par in bytes, in the table and its indexes.
	keyLimit int
}

// Open opens a journal. It reads the description of the table and the journal's header, and checks
// them. The journal's Close also closes the client. If Open fails, the caller closes the client.
func Open(ctx context.Context, client *dynamo.Client, opts *Options) (*Journal, error) {
	j := &Journal{Options: *opts, Client: client}
	if err := j.inspect(ctx); err != nil {
		return nil, fmt.Errorf("open journal %q in table %q: %w", j.Name, j.Table, err)
	}
	j.openStores()
	j.Life.Open(ErrClosed)
	j.admission.Open(client.MaxInFlight())
	j.group = client.NewGroup(dynamo.GroupOptions{
		Table:      j.Table,
		Context:    j.Life.Writing(),
		Off:        !j.GroupCommit,
		IndexBytes: j.indexBytes,
		Refused:    j.logGroupCommitOff,
		Accepted:   j.logGroupCommitOn,
	})
	j.Protocol = protocol.New(protocol.Journal{
		Settings: protocol.Settings{
			MaxBatchEvents: j.MaxBatchEvents,
			MaxBatchBytes:  j.MaxBatchBytes,
			MaxItemSize:    j.MaxItemSize,
			MaxBatchWrite:  j.MaxBatchWrite,
			FenceWindow:    j.FenceWindow,
			HandoverTime:   j.HandoverTime,
			Enveloped:      j.Enveloped,
			Metadata:       j.Metadata(j.Store.Shared()),
			Logger:         j.Logger,
		},
		Store:     j.Store,
		Snapshots: j.Saved,
		Group:     j.group,
		Clock:     j.Clock,
		Life:      &j.Life,
	})
	j.connectAhead(ctx)
	return j, nil
}

// openStores opens the stores of events, persistence ids, snapshots and durable states.
func (j *Journal) openStores() {
	keys := j.Keys()
	j.Store = &protocol.Store{
		Client:         j.Client,
		Table:          j.Table,
		Keys:           keys,
		IDsShards:      j.Header.IDsShards,
		MaxBatchEvents: j.MaxBatchEvents,
		Parallelism:    j.Parallelism,
		OnLoss:         j.ReportLoss,
		OnSeal:         j.OnSeal,
		Go:             j.Life.Go,
	}
	j.IDs = &ids.Store{
		Client:    j.Client,
		Table:     j.Table,
		Keys:      keys,
		IDsShards: j.Header.IDsShards,
		Index:     j.IDsIndex,
		Go:        j.Life.Go,
	}
	j.Saved = &snapshots.Store{
		Client:      j.Client,
		Clock:       j.Clock,
		Table:       j.SnapshotTable,
		Keys:        keys,
		MaxItemSize: j.MaxItemSize,
		MaxBytes:    j.MaxSnapshotBytes,
		Parallelism: j.Parallelism,
		Envelope:    j.EnvelopedSnapshots,
		Compress:    j.CompressedSnapshots,
	}
	j.States = &states.Store{
		Client:      j.Client,
		Clock:       j.Clock,
		Table:       j.SnapshotTable,
		Keys:        keys,
		MaxItemSize: j.MaxItemSize,
		MaxBytes:    j.MaxSnapshotBytes,
		Parallelism: j.Parallelism,
	}
}

// Close closes the journal and its client. It waits for operations, up to Options.OperationTimeout.
func (j *Journal) Close() {
	j.Life.Close(j.OperationTimeout)
	j.group.Close()
	j.Client.Close()
}

// Native reports whether the journal is native. Otherwise it is shared with a JVM.
func (j *Journal) Native() bool { return j.Header.Kind == layout.KindNative }

// Keys returns the keys of the journal's items.
func (j *Journal) Keys() layout.Keys { return layout.Keys{Journal: j.Name, Shards: j.Header.Shards} }

// CheckReadable returns an error if nothing can be stored for a persistence id. A JVM writes ids
// that CheckID refuses, as long as the keys of their first numbers fit.
func (j *Journal) CheckReadable(pid string) error { return j.wrongID(pid, j.Keys().CheckReadable(pid)) }

// CheckID returns an error if a key of a persistence id would be too long, now or at its highest
// sequence number.
func (j *Journal) CheckID(pid string) error {
	err := j.Keys().CheckPersistenceID(pid, j.keyLimit)
	if err == nil && j.Native() {
		err = j.Keys().CheckIDsKey(pid)
	}
	return j.wrongID(pid, err)
}

func (j *Journal) wrongID(pid string, err error) error {
	if err == nil {
		return nil
	}
	return j.PublicError(&ArgumentError{"persistence id", pid, err.Error()})
}

// InTable returns the public form of an error. An error about an item that can't be read gets the
// table's name.
func (j *Journal) InTable(table string, err error) error {
	if err == nil {
		return nil
	}
	return j.PublicError(protocol.InTable(table, err))
}

// inspect reads the table's description and the journal's header, and checks them. It logs a
// warning if the table has replicas in other Regions.
func (j *Journal) inspect(ctx context.Context) error {
	found, err := j.Inspect(j.Client.For(ctx, dynamo.ForTables), j.Client)
	if err != nil {
		return j.PublicError(err)
	}
	j.Header, j.keyLimit = found.Header, found.KeyLimit
	j.FenceWindow = time.Duration(j.Header.FenceWindow) * time.Second
	j.HasIndex.Store(found.Indexed)
	if len(found.Replication.Regions) > 0 {
		j.warnOfReplicas(ctx, found.Replication)
	}
	return nil
}

// warnOfReplicas logs what a replicated table can't do. docs/guarantees.md has the sources.
func (j *Journal) warnOfReplicas(ctx context.Context, r provision.Replication) {
	lacks := "the conditions of writes are checked in one Region only: two Regions can both write a sequence number, and one " +
		"of the two events is lost. Write each persistence id in one Region only"
	if r.Strong() {
		lacks = "there is no time to live, so tombstones stay until a repair. There are no transactions, so transactional " +
			"projections need a projections table of one Region. There are no local indexes, so a JVM's snapshot " +
			"table can't be replicated this way"
	}
	j.Logger.LogAttrs(ctx, slog.LevelWarn, "the journal table has replicas in other Regions",
		slog.String("event", "journal.replicas"), slog.String("table", j.Table), slog.String("regions", strings.Join(r.Regions, ", ")),
		slog.String("consistency", r.Consistency), slog.String("lacks", lacks),
		slog.String("see", "docs/guarantees.md#global-tables"))
}

// indexBytes returns the size of an item's entry in the index of persistence ids.
func (j *Journal) indexBytes(item dynamo.Attributes) int {
	if !j.Native() && !j.HasIndex.Load() {
		return 0
	}
	return layout.IDsEntrySize(item, j.Native())
}

// connectAhead opens Options.ConnectAhead connections. It ignores errors: the cause of an error
// also fails the first operation that needs a connection.
func (j *Journal) connectAhead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, j.AttemptTimeout)
	defer cancel()
	var connecting sync.WaitGroup
	for range j.ConnectAhead {
		connecting.Go(func() {
			_, _ = j.Client.Get(ctx, &dynamo.Meter{}, j.Table, j.Keys().Header().Attributes())
		})
	}
	connecting.Wait()
}

// logGroupCommitOff logs that the service refuses the requests of group commit, and that from now
// on each event has its own request.
func (j *Journal) logGroupCommitOff(why error) {
	j.Logger.LogAttrs(context.Background(), slog.LevelWarn,
		"group commit is off: the service refuses PartiQL inserts, each event gets its own request",
		slog.String("event", "journal.group_commit_off"), slog.String("journal_table", j.Table), slog.Any("error", why))
}

// logGroupCommitOn logs that the service accepts the requests of group commit again.
func (j *Journal) logGroupCommitOn() {
	j.Logger.LogAttrs(context.Background(), slog.LevelInfo,
		"group commit is on again: the service accepts PartiQL inserts",
		slog.String("event", "journal.group_commit_on"), slog.String("journal_table", j.Table))
}
