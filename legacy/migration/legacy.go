package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// Marked selects how to copy events that are marked as deleted. Their payloads are never copied.
// Their numbers always stay taken: at the beginning of a history by the low mark, elsewhere by
// seals.
type Marked int

const (
	// MarkedSkip copies nothing more of them.
	MarkedSkip Marked = iota
	// MarkedTombstones also makes tombstones for the marked events at the beginning, which last for
	// the fence window, as after a deletion.
	MarkedTombstones
)

// Legacy is a journal of an older layout as a source. Numbers that are missing at the beginning of
// a history become a deleted prefix. Numbers that are missing later are closed. An event that can't
// be read is copied unchanged, as the bytes of a persistence message (serializer 7), and reported
// in a [Note].
//
// These layouts have no snapshots, and store events and marks in no fixed order. If Live is set,
// programs still write to the source, so an event near the end of a history may be in flight. The
// history then ends before the first missing number near its end.
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
