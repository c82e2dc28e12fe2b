// Package migration copies journals of any layout into a journal of the current layout: events with
// their numbers and writers, deleted prefixes, and snapshots. It never writes to the source. A copy
// can be interrupted at any point and repeated. It writes only what the target lacks, and compares
// event by event.
//
// Sources are journals in the layouts of package legacy, and journals of the current layout in
// another account, endpoint or table, or of another kind.
package migration

import (
	"context"
	"errors"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

// Source provides the histories to copy. It is safe for concurrent use.
type Source interface {
	// PersistenceIDs lists all persistence ids, each once.
	PersistenceIDs(ctx context.Context) iter.Seq2[string, error]
	// Records reads the history of a persistence id as dynajournal.Records does: a low mark, then
	// every number in order and without gaps, in the longest possible spans, up to the last number
	// that can no longer change.
	Records(ctx context.Context, persistenceID string, opts ReadOptions) iter.Seq2[dynajournal.Record, error]
	// Snapshots reads all snapshots of a persistence id.
	Snapshots(ctx context.Context, persistenceID string) iter.Seq2[dynajournal.Snapshot, error]
}

// ReadOptions select the part of a history to read.
type ReadOptions struct {
	// From is the first number to read. 0 means the first number of the history.
	From int64
	// Pace is called with the capacity used since the last call. It may wait.
	Pace func(ctx context.Context, used dynajournal.Cost) error
	// Note, if set, is called for each event of which the current layout can't store everything.
	Note func(Note)
}

// Note describes information about an event that the copy does not contain.
type Note struct {
	PersistenceID  string
	SequenceNumber int64
	// MarkedDeleted reports that the event was marked as deleted.
	MarkedDeleted bool
	// Confirmations contains the channels that had confirmed the event.
	Confirmations []string
	// Unreadable is the reason why the event can't be read. Its bytes are copied unchanged.
	Unreadable error
}

// Current is a journal of the current layout as a source. It also reads events in the form of Akka
// 1.0 and 1.1.
type Current struct {
	Journal *dynajournal.Journal
	// WithoutSnapshots makes the source return no snapshots.
	WithoutSnapshots bool
	// NeedsNoSnapshots states that the copy needs no snapshots: an entity whose events were deleted
	// because of a snapshot starts without the state from these events. Each such id is logged, and
	// passed to the hooks of Journal as a [dynajournal.Loss]. If NeedsNoSnapshots is not set, such
	// an id is refused unless the source or the target has the snapshot.
	NeedsNoSnapshots bool
	// Live states that a JVM may be writing, as in dynajournal.RecordsOptions.
	Live bool
}

// PersistenceIDs lists the ids with a scan, which does not lag behind writes.
func (c Current) PersistenceIDs(ctx context.Context) iter.Seq2[string, error] {
	return c.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true})
}

// Records reads the history of a persistence id.
func (c Current) Records(ctx context.Context, pid string, opts ReadOptions) iter.Seq2[dynajournal.Record, error] {
	records := c.Journal.Records(ctx, pid, dynajournal.RecordsOptions{From: opts.From, Live: c.Live, Pace: opts.Pace})
	if !c.NeedsNoSnapshots {
		return records
	}
	return func(yield func(dynajournal.Record, error) bool) {
		for record, err := range records {
			if err == nil && record.Behind > 0 {
				core.Of(c.Journal).ReportLoss(ctx, pid, &dynajournal.SnapshotMissingError{PersistenceID: pid, DeletedTo: record.Behind})
				record.Behind = 0
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// Snapshots reads the snapshots of a persistence id. Without a snapshot table there are none.
func (c Current) Snapshots(ctx context.Context, pid string) iter.Seq2[dynajournal.Snapshot, error] {
	return func(yield func(dynajournal.Snapshot, error) bool) {
		if c.WithoutSnapshots {
			return
		}
		for s, err := range c.Journal.Snapshots(ctx, pid, dynajournal.SnapshotCriteria{}) {
			if errors.Is(err, dynajournal.ErrTableNotFound) || !yield(s, err) {
				return
			}
		}
	}
}
