package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal"
)

// comparedEvents is the result of comparing two histories.
type comparedEvents struct {
	// events is the number of equal events.
	events int64
	// purged is the highest number that a purge of the source has taken, or 0.
	purged int64
	// difference is the first difference, or nil. behind reports that the target only lacks the
	// newest part of the history.
	difference *Difference
	behind     bool
}

// compareEvents finds the first difference between two histories.
func (r *run) compareEvents(ctx context.Context, pid string) (c comparedEvents, _ error) {
	want, stopWant := iter.Pull2(live(r.source.Records(ctx, pid, ReadOptions{Pace: r.pace})))
	defer stopWant()
	got, stopGot := iter.Pull2(live(r.target.Records(ctx, pid, dynajournal.RecordsOptions{SkipMissing: true, Pace: r.pace})))
	defer stopGot()
	for {
		w, wErr, wOK := want()
		g, gErr, gOK := got()
		if err := errors.Join(wErr, gErr); err != nil {
			return c, err
		}
		if !wOK && !gOK {
			return c, nil
		}
		c.purged = max(c.purged, w.Purged)
		if !r.target.Native() { // a purge leaves no trace there
			w.Purged = 0
		}
		if !wOK || !gOK || !same(w, g) {
			c.behind = !gOK && w.Kind != dynajournal.RecordLowMark
			c.difference = &Difference{pid, at(w, g, wOK, gOK), differs(w, g, wOK, gOK)}
			return c, nil
		}
		if w.Kind == dynajournal.RecordEvent {
			c.events++
		}
	}
}

// live returns the records of a history that do not expire: all except records of deleted numbers.
func live(records iter.Seq2[dynajournal.Record, error]) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for r, err := range records {
			if (err != nil || r.Kind != dynajournal.RecordDeleted) && !yield(r, err) {
				return
			}
		}
	}
}

func same(a, b dynajournal.Record) bool {
	return a.Kind == b.Kind && a.SequenceNumber == b.SequenceNumber && a.Last == b.Last &&
		a.WriterUUID == b.WriterUUID &&
		a.Manifest == b.Manifest && a.SerializerID == b.SerializerID && a.SerializerManifest == b.SerializerManifest &&
		a.BatchFirst == b.BatchFirst && a.BatchLast == b.BatchLast && a.Behind == b.Behind && a.Purged == b.Purged &&
		slices.Equal(a.Bytes, b.Bytes) &&
		a.Time.UnixMicro() == b.Time.UnixMicro() && maps.Equal(a.Metadata, b.Metadata) && slices.Equal(a.Tags, b.Tags)
}

func at(w, g dynajournal.Record, wOK, gOK bool) int64 {
	if !wOK || gOK && g.SequenceNumber < w.SequenceNumber {
		return g.SequenceNumber
	}
	return w.SequenceNumber
}

func differs(w, g dynajournal.Record, wOK, gOK bool) string {
	source, target := describe(w, wOK), describe(g, gOK)
	if source == target {
		target = "the same with another payload, manifest, atomic write, time, metadata or tags"
	}
	return "the source has " + source + ", the target " + target
}

func describe(r dynajournal.Record, ok bool) string {
	switch {
	case !ok:
		return "nothing"
	case r.Kind == dynajournal.RecordLowMark:
		low := fmt.Sprintf("a low mark of %d", r.SequenceNumber)
		if r.Behind > 0 {
			low += fmt.Sprintf(", which relies on a snapshot at %d", r.Behind)
		}
		if r.Purged > 0 {
			low += fmt.Sprintf(", purged up to %d", r.Purged)
		}
		return low
	case r.Kind == dynajournal.RecordClosed:
		return fmt.Sprintf("no event at %d to %d", r.SequenceNumber, r.Last)
	}
	return fmt.Sprintf("event %d of writer %s, serializer %d, %d bytes", r.SequenceNumber, r.WriterUUID,
		r.SerializerID, len(r.Bytes))
}

// compareSnapshots compares the snapshots of the source that are newer than the number purged.
func (r *run) compareSnapshots(ctx context.Context, pid string, purged int64) (int64, *Difference, error) {
	compared, newest := int64(0), int64(0)
	for s, err := range r.source.Snapshots(ctx, pid) {
		if err != nil {
			return compared, nil, err
		}
		if ofEarlierLife(s, purged) {
			continue
		}
		newest = max(newest, s.SequenceNumber)
		only := dynajournal.SnapshotCriteria{SequenceNumber: &s.SequenceNumber}
		there, ok, err := r.target.LoadSnapshot(ctx, pid, only)
		if err == nil {
			err = r.pace(ctx, dynajournal.Cost{ReadUnits: 2 * float64(len(s.Bytes)/readUnit+1)})
		}
		switch {
		case err != nil:
			return compared, nil, err
		case !ok && r.opts.SourceLive: // the snapshot may be newer than the copy
			continue
		case !ok:
			return compared, &Difference{pid, s.SequenceNumber, "the target has no snapshot there"}, nil
		case there.Timestamp.UnixMilli() != s.Timestamp.UnixMilli() || there.SerializerID != s.SerializerID ||
			there.SerializerManifest != s.SerializerManifest || !slices.Equal(there.Bytes, s.Bytes):
			return compared, &Difference{pid, s.SequenceNumber, "the target has another snapshot there"}, nil
		}
		compared++
	}
	if compared == 0 || newest == dynajournal.MaxSequenceNumber {
		return compared, nil, nil
	}
	other, ok, err := r.target.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{MinSequenceNumber: newest + 1})
	if err != nil {
		return compared, nil, fmt.Errorf("read the snapshots of %q: %w", pid, err)
	}
	if !ok {
		return compared, nil, nil
	}
	return compared, &Difference{pid, other.SequenceNumber,
		"the target has a snapshot that is newer than all snapshots of the source"}, nil
}
