// Package migration copies journals of any layout into a journal of today's: events with their numbers and writers, deleted
// prefixes, snapshots. It never touches the source, can be cut short at any point and called again, copies only what is new
// where most is there already, and compares event by event. It stands beside package legacy, whose layouts are what it is
// mostly for; a journal of today's layout is a source as well, for another account, endpoint, table or kind.
package migration

import (
	"context"
	"errors"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// Source is where histories come from. It is safe for concurrent use.
type Source interface {
	// PersistenceIDs lists all persistence ids, each once.
	PersistenceIDs(ctx context.Context) iter.Seq2[string, error]
	// Records reads the history of a persistence id as dynajournal.Records does: a low mark, then every number in order and
	// without gaps, in spans that are as long as they can be, to the last one that is decided.
	Records(ctx context.Context, persistenceID string, opts ReadOptions) iter.Seq2[dynajournal.Record, error]
	// Snapshots reads all snapshots of a persistence id.
	Snapshots(ctx context.Context, persistenceID string) iter.Seq2[dynajournal.Snapshot, error]
}

// ReadOptions say what of a history to read, and how.
type ReadOptions struct {
	// From is the first number wanted; 0 is the first there is.
	From int64
	// Pace is called with what was used up since the last call; it may wait.
	Pace func(ctx context.Context, used dynajournal.Cost) error
	// Note is told of what today's layout has no place for, if set.
	Note func(Note)
}

// Note is something about an event that the copy can't say.
type Note struct {
	PersistenceID  string
	SequenceNumber int64
	// MarkedDeleted says that the event was marked as deleted.
	MarkedDeleted bool
	// Confirmations are the channels that had confirmed the event.
	Confirmations []string
	// Unreadable is why the event can't be read; its bytes are copied as they are.
	Unreadable error
}

// Current is a journal of today's layout as a source. Events in the form of Akka 1.0 and 1.1 are read as well.
type Current struct {
	Journal *dynajournal.Journal
	// WithoutSnapshots leaves the snapshots out.
	WithoutSnapshots bool
	// Live says that a JVM may be writing, as of dynajournal.RecordsOptions.
	Live bool
}

// PersistenceIDs lists the ids by a scan, which does not lag.
func (c Current) PersistenceIDs(ctx context.Context) iter.Seq2[string, error] {
	return c.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true})
}

// Records reads the history of a persistence id.
func (c Current) Records(ctx context.Context, pid string, opts ReadOptions) iter.Seq2[dynajournal.Record, error] {
	return c.Journal.Records(ctx, pid, dynajournal.RecordsOptions{From: opts.From, Live: c.Live, Pace: opts.Pace})
}

// Snapshots reads the snapshots of a persistence id; there are none where there is no table for them.
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
