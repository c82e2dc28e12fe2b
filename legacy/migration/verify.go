package migration

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

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
// name the ids to compare. Legacy snapshots that the target has besides are none, as nobody recovers
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
