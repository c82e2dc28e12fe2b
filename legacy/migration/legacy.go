package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// Marked selects what is copied for events that are marked as deleted. Their payloads are not
// copied, and their numbers stay taken in either case: at the beginning of a history by the low
// mark, elsewhere by seals.
type Marked int

const (
	// MarkedSkip copies nothing else.
	MarkedSkip Marked = iota
	// MarkedTombstones also makes tombstones for those at the beginning, as a deletion does, for
	// the fence window.
	MarkedTombstones
)

// Legacy is a journal of an older layout as a source. Numbers that are missing at the beginning of
// a history were deleted, and become a deleted prefix. Numbers that are missing later are closed.
// An event that can't be read is copied unchanged, as the bytes of a persistence message
// (serializer 7), and noted.
//
// These layouts have no snapshots, and store events and marks in no fixed order. If Live reports
// that programs still write to the source, a history therefore ends before a number that is missing
// near its end: the event may be in flight.
type Legacy struct {
	Journal *legacy.Journal
	Marked  Marked
	Live    bool
	// Usage counts the capacity that reading the journal uses, for the limits of Options. Its
	// Hook must be one of the hooks of the journal.
	Usage *Usage
}

// PersistenceIDs lists the ids by a scan.
func (o Legacy) PersistenceIDs(ctx context.Context) iter.Seq2[string, error] {
	return o.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{})
}

// Snapshots returns no snapshots.
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
