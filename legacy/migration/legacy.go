package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// Marked says what becomes of events that are marked as deleted. Their payloads are not copied, and their numbers stay taken
// either way: at the beginning of a history by the low mark, elsewhere by seals.
type Marked int

const (
	// MarkedSkip leaves nothing else of them.
	MarkedSkip Marked = iota
	// MarkedTombstones keeps those at the beginning as tombstones besides, as a deletion here does, for the fence window.
	MarkedTombstones
)

// Legacy is a journal of an older layout as a source. What is missing at the beginning of a history was deleted, and becomes a
// deleted prefix; what is missing later is closed. An event that can't be read is copied as it stands, as the bytes of a
// persistence message (serializer 7), and noted.
//
// These layouts have no snapshots, and write events and marks in no order. So with Live, which says that programs still write to
// the source, a history ends before a missing number near its end: it may be on its way.
type Legacy struct {
	Journal *legacy.Journal
	Marked  Marked
	Live    bool
	// Usage counts what reading the journal uses up, if it is one of its hooks, so that a bound of capacity can be kept.
	Usage *Usage
}

// PersistenceIDs lists the ids by a scan.
func (o Legacy) PersistenceIDs(ctx context.Context) iter.Seq2[string, error] {
	return o.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{})
}

// Snapshots gives nothing.
func (Legacy) Snapshots(context.Context, string) iter.Seq2[dynajournal.Snapshot, error] {
	return func(func(dynajournal.Snapshot, error) bool) {}
}

// Records reads the history of a persistence id.
func (o Legacy) Records(ctx context.Context, pid string, opts ReadOptions) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		r := &legacyHistory{Legacy: o, pid: pid, opts: opts, next: max(opts.From, 1), leading: opts.From <= 1}
		r.yield = func(record dynajournal.Record) error {
			if !yield(record, nil) {
				return errEnough
			}
			return nil
		}
		if err := r.read(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(dynajournal.Record{}, fmt.Errorf("read the history of %q: %w", pid, err))
		}
	}
}
