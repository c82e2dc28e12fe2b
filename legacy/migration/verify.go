package migration

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/dynajournal/dynajournal"
)

// Comparison is what a comparison has found.
type Comparison struct {
	// PersistenceIDs, Events and Snapshots are how many were compared, and are the same in source and target.
	PersistenceIDs, Events, Snapshots int64
	// Behind is how many persistence ids only lack what is newest in the source: run again to catch
	// up. They are among the Differences, unless Options.SourceLive says that this is no
	// difference.
	Behind int64
	// Differences are where source and target differ, at most MaxFailures of them, one for each persistence id; Different is
	// how many.
	Differences []Difference
	Different   int64
}

// Difference is the first place where a persistence id in the target is not that of the source.
type Difference struct {
	PersistenceID  string
	SequenceNumber int64
	Detail         string
}

// DifferentError says how many persistence ids differ, and where the first of them does. errors.Is ErrDifferent.
type DifferentError struct {
	Different int64
	First     Difference
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%v: %d persistence ids differ, the first: %q at %d: %s",
		ErrDifferent, e.Different, e.First.PersistenceID, e.First.SequenceNumber, e.First.Detail)
}

// Is makes it ErrDifferent.
func (e *DifferentError) Is(target error) bool { return target == ErrDifferent }

// Verify compares source and target, event by event and snapshot by snapshot: numbers, bytes, serializers, manifests, writers,
// atomic writes, numbers that hold nothing, low marks. It changes nothing. Options that concern writing have no meaning.
//
// It returns nil only if they are equal: the target has everything that the source has, and no
// event besides. A persistence id that the source does not list is a difference too, unless Options
// name the ids to compare. Older snapshots that the target has besides are none, as nobody recovers
// from them; a snapshot newer than the newest of the source is one.
//
// Errors: *DifferentError, and those of Run.
func Verify(ctx context.Context, source Source, target *dynajournal.Journal, opts Options) (Comparison, error) {
	r, err := newRun(source, target, opts)
	if err != nil {
		return Comparison{}, err
	}
	v := &verification{run: r, seen: map[idHash]bool{}}
	compare := func(ctx context.Context, pid string) error { return r.tried(ctx, pid, v.compare) }
	err = r.each(ctx, r.listed(v.remember), compare)
	if err == nil && len(r.opts.PersistenceIDs) == 0 && !r.opts.SourceLive {
		err = r.each(ctx, v.others, compare)
	}
	if err = errors.Join(err, r.incomplete()); v.Different > 0 {
		err = errors.Join(err, &DifferentError{v.Different, v.Differences[0]})
	}
	return v.Comparison, err
}

// verification is a comparison under way.
type verification struct {
	Comparison

	run *run
	// seen are the persistence ids of the source.
	seen map[idHash]bool
}

// idHash identifies a persistence id in 16 bytes.
type idHash [sha256.Size / 2]byte

func hashOf(pid string) idHash {
	sum := sha256.Sum256([]byte(pid))
	return idHash(sum[:sha256.Size/2])
}

func (v *verification) remember(pid string) { v.seen[hashOf(pid)] = true }

// others lists the persistence ids of the target that the source has not listed. It reads the
// table, as an index may lag.
func (v *verification) others(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for pid, err := range v.run.target.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true}) {
			if (err != nil || !v.seen[hashOf(pid)]) && !yield(pid, err) {
				return
			}
		}
	}
}

// compare compares one persistence id.
func (v *verification) compare(ctx context.Context, pid string) error {
	r := v.run
	events, behind, difference, err := r.compareEvents(ctx, pid)
	snapshots := int64(0)
	if behind && r.opts.SourceLive {
		difference = nil
	}
	if err == nil && (difference == nil || behind) {
		var other *Difference
		if snapshots, other, err = r.compareSnapshots(ctx, pid); difference == nil {
			difference = other
		}
	}
	if err != nil {
		return err
	}
	r.count(func(s *Summary) {
		s.PersistenceIDs++
		s.Events += events
		if behind {
			v.Behind++
		}
		if difference != nil {
			if v.Different++; len(v.Differences) < MaxFailures {
				v.Differences = append(v.Differences, *difference)
			}
			return
		}
		v.PersistenceIDs++
		v.Events += events
		v.Snapshots += snapshots
	})
	return nil
}

// compareEvents finds the first difference of two histories. behind reports that the target only
// lacks the end.
func (r *run) compareEvents(ctx context.Context, pid string) (events int64, behind bool, _ *Difference, _ error) {
	want, stopWant := iter.Pull2(live(r.source.Records(ctx, pid, ReadOptions{Pace: r.pace})))
	defer stopWant()
	got, stopGot := iter.Pull2(live(r.target.Records(ctx, pid, dynajournal.RecordsOptions{Pace: r.pace})))
	defer stopGot()
	for {
		w, wErr, wOK := want()
		g, gErr, gOK := got()
		if err := errors.Join(wErr, gErr); err != nil {
			return events, false, nil, err
		}
		if !wOK && !gOK {
			return events, false, nil, nil
		}
		if !wOK || !gOK || !same(w, g) {
			behind = !gOK && w.Kind != dynajournal.RecordLowMark
			return events, behind, &Difference{pid, at(w, g, wOK, gOK), differs(w, g, wOK, gOK)}, nil
		}
		if w.Kind == dynajournal.RecordEvent {
			events++
		}
	}
}

// live are the records of a history that a reader can see: deleted numbers are kept taken by nothing that lasts.
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
	return a.Kind == b.Kind && a.SequenceNumber == b.SequenceNumber && a.Last == b.Last && a.WriterUUID == b.WriterUUID &&
		a.Manifest == b.Manifest && a.SerializerID == b.SerializerID && a.SerializerManifest == b.SerializerManifest &&
		a.BatchFirst == b.BatchFirst && a.BatchLast == b.BatchLast && slices.Equal(a.Bytes, b.Bytes)
}

func at(w, g dynajournal.Record, wOK, gOK bool) int64 {
	if !wOK || gOK && g.SequenceNumber < w.SequenceNumber {
		return g.SequenceNumber
	}
	return w.SequenceNumber
}

func differs(w, g dynajournal.Record, wOK, gOK bool) string {
	return "the source has " + describe(w, wOK) + ", the target " + describe(g, gOK)
}

func describe(r dynajournal.Record, ok bool) string {
	switch {
	case !ok:
		return "nothing"
	case r.Kind == dynajournal.RecordLowMark:
		return fmt.Sprintf("a low mark of %d", r.SequenceNumber)
	case r.Kind == dynajournal.RecordClosed:
		return fmt.Sprintf("no event at %d to %d", r.SequenceNumber, r.Last)
	}
	return fmt.Sprintf("event %d of writer %s, serializer %d, %d bytes", r.SequenceNumber, r.WriterUUID, r.SerializerID, len(r.Bytes))
}

func (r *run) compareSnapshots(ctx context.Context, pid string) (int64, *Difference, error) {
	compared, newest := int64(0), int64(0)
	for s, err := range r.source.Snapshots(ctx, pid) {
		if err != nil {
			return compared, nil, err
		}
		newest = max(newest, s.SequenceNumber)
		only := dynajournal.SnapshotCriteria{MinSequenceNumber: s.SequenceNumber, MaxSequenceNumber: s.SequenceNumber}
		there, ok, err := r.target.LoadSnapshot(ctx, pid, only)
		if err == nil {
			err = r.pace(ctx, dynajournal.Cost{ReadUnits: 2 * float64(len(s.Bytes)/readUnit+1)})
		}
		switch {
		case err != nil:
			return compared, nil, err
		case !ok && r.opts.SourceLive: // it may be newer than the copy
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
		return compared, nil, fmt.Errorf("look for a newer snapshot of %q: %w", pid, err)
	}
	if !ok {
		return compared, nil, nil
	}
	return compared, &Difference{pid, other.SequenceNumber, "the target has a snapshot that is newer than those of the source"}, nil
}
