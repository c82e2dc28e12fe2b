package migration

import (
	"context"
	"errors"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// copy copies one persistence id: first its events, then its snapshots, which must not be newer
// than the events.
func (r *run) copy(ctx context.Context, pid string) error {
	var notes []Note
	opts := ReadOptions{Pace: r.pace, Note: func(n Note) { notes = append(notes, n) }}
	records := r.source.Records(ctx, pid, opts)
	if r.opts.CatchUp {
		var err error
		if records, err = r.newRecords(ctx, pid, opts); err != nil {
			return err
		}
	}
	purged := int64(0)
	records = r.requireSnapshots(ctx, pid, purgedIn(records, &purged))
	copied, err := r.target.PutRecords(ctx, pid, r.withProgress(records), dynajournal.PutRecordsOptions{Pace: r.pace})
	if err != nil {
		return err
	}
	snapshots, written, err := r.snapshots(ctx, pid, purged)
	if err != nil {
		return err
	}
	if err := r.opts.State.add(pid, copied.Highest); err != nil {
		return err
	}
	for _, n := range notes {
		r.note(n)
	}
	r.count(func(s *Summary) {
		s.PersistenceIDs++
		s.Events += copied.Events
		s.Written += copied.Written
		s.Snapshots += snapshots
		s.SnapshotsWritten += written
	})
	return nil
}

// purgedIn passes records on, and stores the highest number that a purge has taken in purged.
func purgedIn(records iter.Seq2[dynajournal.Record, error], purged *int64) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for record, err := range records {
			*purged = max(*purged, record.Purged)
			if !yield(record, err) {
				return
			}
		}
	}
}

// ofEarlierLife reports whether a purge up to a number has ended the life that a snapshot belongs
// to. No recovery reads such a snapshot, and it is not copied.
func ofEarlierLife(s dynajournal.Snapshot, purged int64) bool {
	return purged > 0 && s.SequenceNumber <= purged
}

// requireSnapshots passes records on. It stops with a *dynajournal.SnapshotMissingError before a
// low mark that relies on a snapshot which neither the source nor the target has.
func (r *run) requireSnapshots(
	ctx context.Context, pid string, records iter.Seq2[dynajournal.Record, error],
) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for record, err := range records {
			if err == nil && record.Behind > 0 {
				err = r.wantSnapshot(ctx, pid, record.Behind)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// wantSnapshot returns an error unless the source or the target has a snapshot whose number is
// behind or higher.
func (r *run) wantSnapshot(ctx context.Context, pid string, behind int64) error {
	there := dynajournal.SnapshotCriteria{MinSequenceNumber: behind}
	if _, ok, err := r.target.LoadSnapshot(ctx, pid, there); ok || err != nil {
		return err
	}
	newest := int64(0)
	for s, err := range r.source.Snapshots(ctx, pid) {
		if err != nil || s.SequenceNumber >= behind {
			return err
		}
		newest = max(newest, s.SequenceNumber)
	}
	return &dynajournal.SnapshotMissingError{PersistenceID: pid, DeletedTo: behind, Newest: newest}
}

// withProgress passes records on, and reports the progress within a long history.
func (r *run) withProgress(records iter.Seq2[dynajournal.Record, error]) iter.Seq2[dynajournal.Record, error] {
	const step = 100
	return func(yield func(dynajournal.Record, error) bool) {
		n := int64(0)
		for record, err := range records {
			if n++; n%step == 0 && r.opts.Progress != nil {
				r.mu.Lock()
				r.opts.Progress(Progress{r.summary.PersistenceIDs, r.summary.Events + n})
				r.mu.Unlock()
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// newRecords returns the history from the last event that is complete in the target. If the low
// marks of source and target differ, it starts with the low mark of the source, because that mark
// may have to name an atomic write that it cuts.
func (r *run) newRecords(ctx context.Context, pid string, opts ReadOptions) (iter.Seq2[dynajournal.Record, error], error) {
	bounds, err := r.target.Bounds(ctx, pid)
	if err != nil {
		return nil, err
	}
	if opts.From, err = r.last(ctx, pid, bounds); err != nil {
		return nil, err
	}
	return func(yield func(dynajournal.Record, error) bool) {
		first, next, stop := started(r.source.Records(ctx, pid, opts))
		if first.Kind == dynajournal.RecordLowMark && first.SequenceNumber != bounds.Lowest &&
			first.SequenceNumber < opts.From {
			stop()
			opts.From = first.SequenceNumber
			_, next, stop = started(r.source.Records(ctx, pid, opts))
		}
		defer stop()
		for record, err, ok := next(); ok; record, err, ok = next() {
			if !yield(record, err) {
				return
			}
		}
	}, nil
}

// started starts to read records, and returns the first. next returns all records, including the
// first.
func started(
	records iter.Seq2[dynajournal.Record, error],
) (first dynajournal.Record, next func() (dynajournal.Record, error, bool), stop func()) {
	pull, stop := iter.Pull2(records)
	first, err, ok := pull()
	returnedFirst := false
	return first, func() (dynajournal.Record, error, bool) {
		if !returnedFirst {
			returnedFirst = true
			return first, err, ok
		}
		return pull()
	}, stop
}

// last returns the number at which the last event, atomic write or closed span of the target
// starts, so that a copy that continues there compares it. It skips members of an incomplete atomic
// write, which an earlier copy may have left.
func (r *run) last(ctx context.Context, pid string, bounds dynajournal.Bounds) (int64, error) {
	const block = 100
	lowest := max(bounds.Lowest, 1)
	for from := bounds.Highest - bounds.Highest%block; ; from -= block {
		from = max(from, lowest)
		last := int64(0)
		for record, err := range r.target.Records(ctx, pid, dynajournal.RecordsOptions{From: from, Pace: r.pace}) {
			if err != nil {
				return 0, err
			}
			switch {
			case record.Kind == dynajournal.RecordEvent && record.BatchFirst != 0:
				last = max(record.BatchFirst, lowest)
			case record.Kind == dynajournal.RecordEvent, record.Kind == dynajournal.RecordClosed:
				last = record.SequenceNumber
			}
		}
		if last != 0 || from == lowest {
			return max(last, lowest), nil
		}
	}
}

// The estimated cost of a snapshot: a read unit for each 4 KiB, and a write unit for each KiB.
const readUnit, writeUnit = 4 << 10, 1 << 10

// snapshots copies the snapshots of a persistence id that are newer than the number purged.
func (r *run) snapshots(ctx context.Context, pid string, purged int64) (found, written int64, err error) {
	for s, err := range r.source.Snapshots(ctx, pid) {
		if err != nil {
			return found, written, err
		}
		if ofEarlierLife(s, purged) {
			continue
		}
		found++
		used := dynajournal.Cost{ReadUnits: float64(len(s.Bytes)/readUnit + 1)}
		copied, err := r.target.CopySnapshot(ctx, s)
		if copied {
			written++
			used.WriteUnits = float64(len(s.Bytes)/writeUnit + 1)
		}
		if err = errors.Join(err, r.pace(ctx, used)); err != nil {
			return found, written, err
		}
	}
	return found, written, nil
}
