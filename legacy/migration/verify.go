package migration

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
)

// Comparison is the result of a comparison.
type Comparison struct {
	// PersistenceIDs, Events and Snapshots count the ids, events and snapshots that are equal in
	// source and target.
	PersistenceIDs, Events, Snapshots int64
	// Behind is the number of persistence ids that only lack the newest content of the source: run
	// the copy again to catch up. They are among the Differences, unless Options.SourceLive is set.
	Behind int64
	// Differences contains the first differences between source and target, at most MaxFailures,
	// one for each persistence id. Different is the number of all of them.
	Differences []Difference
	Different   int64
}

// Difference is the first difference between source and target for a persistence id.
type Difference struct {
	PersistenceID  string
	SequenceNumber int64
	Detail         string
}

// DifferentError reports the number of persistence ids that differ, and the first difference. It
// matches [ErrDifferent].
type DifferentError struct {
	Different int64
	First     Difference
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%v: %d persistence ids differ, the first: %q at %d: %s",
		ErrDifferent, e.Different, e.First.PersistenceID, e.First.SequenceNumber, e.First.Detail)
}

// Is reports whether target is [ErrDifferent].
func (e *DifferentError) Is(target error) bool { return target == ErrDifferent }

// Verify compares source and target, event by event and snapshot by snapshot: numbers, bytes,
// serializers, manifests, writers, atomic writes, numbers without an event, low marks. It writes
// nothing, and ignores the options for writing.
//
// It returns nil only if they are equal: the target has everything that the source has, and no
// other event. A persistence id that the source does not list is a difference, unless Options name
// the ids to compare. Additional snapshots in the target are not a difference, because no recovery
// uses them. The exception is a snapshot that is newer than the newest of the source.
//
// Errors: [*DifferentError], and the errors documented on [Run].
func Verify(ctx context.Context, source Source, target *dynajournal.Journal, opts Options) (Comparison, error) {
	r, err := newRun(source, target, opts)
	if err != nil {
		return Comparison{}, err
	}
	v := &verification{run: r, seen: map[idHash]bool{}}
	compare := func(ctx context.Context, pid string) error { return r.runWithRetries(ctx, pid, v.compare) }
	err = r.each(ctx, v.listed, compare)
	if err == nil && len(r.opts.PersistenceIDs) == 0 && !r.opts.SourceLive {
		err = r.each(ctx, v.others, compare)
	}
	if err = errors.Join(err, r.incomplete()); v.Different > 0 {
		err = errors.Join(err, &DifferentError{v.Different, v.Differences[0]})
	}
	return v.Comparison, err
}

// verification is a comparison in progress.
type verification struct {
	Comparison

	run *run
	// seen contains the persistence ids of the source.
	seen map[idHash]bool
}

// idHash identifies a persistence id in 16 bytes.
type idHash [sha256.Size / 2]byte

func hashOf(pid string) idHash {
	sum := sha256.Sum256([]byte(pid))
	return idHash(sum[:sha256.Size/2])
}

// listed lists the persistence ids of the run, and adds them to seen.
func (v *verification) listed(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for pid, err := range v.run.listed(ctx) {
			if err == nil {
				v.seen[hashOf(pid)] = true
			}
			if !yield(pid, err) {
				return
			}
		}
	}
}

// others lists the persistence ids of the target that the source has not listed. It scans the
// table, because an index may lag behind.
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
	c, err := r.compareEvents(ctx, pid)
	snapshots, difference := int64(0), c.difference
	if c.behind && r.opts.SourceLive {
		difference = nil
	}
	if err == nil && (difference == nil || c.behind) {
		var other *Difference
		if snapshots, other, err = r.compareSnapshots(ctx, pid, c.purged); difference == nil {
			difference = other
		}
	}
	if err != nil {
		return err
	}
	r.count(func(s *Summary) {
		s.PersistenceIDs++
		s.Events += c.events
		if c.behind {
			v.Behind++
		}
		if difference != nil {
			if v.Different++; len(v.Differences) < MaxFailures {
				v.Differences = append(v.Differences, *difference)
			}
			return
		}
		v.PersistenceIDs++
		v.Events += c.events
		v.Snapshots += snapshots
	})
	return nil
}
