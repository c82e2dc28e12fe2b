package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
)

// expectation is the content that a journal must have for a persistence id after an import. It is
// computed from the archive while the id is written, and does not retain events.
type expectation struct {
	pid      string
	contents *archive.Contents
	digest   *archive.Digest
	// last is the last number of the archive.
	last int64
	// snapshots are the numbers of the archive's snapshots, in its order.
	snapshots []int64
	// behind is the last number that was deleted because a snapshot has the state, or 0.
	behind int64
}

func expect(contents *archive.Contents, pid string) *expectation {
	return &expectation{pid: pid, contents: contents, digest: contents.Digest(pid)}
}

// take adds the next item of the archive.
func (e *expectation) take(item *archive.Item) {
	e.digest.Take(item)
	switch r := item.Record; {
	case item.Snapshot != nil:
		e.snapshots = append(e.snapshots, item.Snapshot.SequenceNumber)
	case r == nil:
	case dynajournal.RecordKind(r.Kind) == dynajournal.RecordLowMark:
		e.behind = max(e.behind, r.Behind)
	case dynajournal.RecordKind(r.Kind) == dynajournal.RecordEvent:
		e.last = r.SequenceNumber
	case dynajournal.RecordKind(r.Kind) == dynajournal.RecordClosed:
		e.last = r.Last
	}
}

// errDiffers reports that a journal and the archive have different content.
var errDiffers = errors.New("the journal differs from the archive")

// compare reads the journal and returns the checksum of its content. The content is equal if the
// journal has the low mark of the archive, the same events and closed numbers up to the last number
// of the archive, and its snapshots. Later numbers and other snapshots are ignored.
//
// Errors: errDiffers, dynajournal.ErrSnapshotMissing if the journal lacks a snapshot that the low
// mark relies on, and errors of reading.
func (e *expectation) compare(ctx context.Context, j *dynajournal.Journal) (archive.Checksum, error) {
	found := e.contents.Digest(e.pid)
	for r, err := range j.Records(ctx, e.pid, dynajournal.RecordsOptions{SkipMissing: true}) {
		if err != nil {
			return archive.Checksum{}, err
		}
		if r.Kind != dynajournal.RecordLowMark && r.SequenceNumber > e.last {
			break
		}
		if r.Kind == dynajournal.RecordClosed {
			r.Last = min(r.Last, e.last)
		}
		found.Record(archivedRecord(&r))
	}
	for _, seq := range e.snapshots {
		only := dynajournal.SnapshotCriteria{SequenceNumber: &seq}
		s, ok, err := j.LoadSnapshot(ctx, e.pid, only)
		if err != nil {
			return archive.Checksum{}, err
		}
		if ok {
			found.Snapshot(archivedSnapshot(s))
		}
	}
	got, want := found.Sum(), e.digest.Sum()
	if got == want {
		return got, e.wantSnapshot(ctx, j)
	}
	return got, fmt.Errorf("%w: it has %d events and %d snapshots with checksum %s, want %d and %d with checksum %s",
		errDiffers,
		found.Events(), found.Snapshots(), got, e.digest.Events(), e.digest.Snapshots(), want)
}

// wantSnapshot returns an error unless the journal has the snapshot that the low mark relies on.
func (e *expectation) wantSnapshot(ctx context.Context, j *dynajournal.Journal) error {
	if e.behind == 0 {
		return nil
	}
	there := dynajournal.SnapshotCriteria{MinSequenceNumber: e.behind}
	_, ok, err := j.LoadSnapshot(ctx, e.pid, there)
	if damaged := new(dynajournal.DamagedSnapshotError); ok || err != nil && !errors.As(err, &damaged) {
		return err
	}
	missing := &dynajournal.SnapshotMissingError{PersistenceID: e.pid, DeletedTo: e.behind}
	if n := len(e.snapshots); n > 0 {
		missing.Newest = slices.Max(e.snapshots)
	}
	return missing
}
