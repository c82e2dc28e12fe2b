package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal"
)

// Defaults of Options.
const (
	DefaultParallelism = 10
	DefaultRetries     = 8
	DefaultPause       = time.Second
)

// Options say what to copy, and how fast. The zero value copies all, as fast as it can.
type Options struct {
	// PersistenceIDs are those to copy; none is all that the source lists.
	PersistenceIDs []string
	// Parallelism is how many persistence ids are copied at the same time. Within one, events are written one after the other.
	// Defaults to DefaultParallelism.
	Parallelism int
	// ReadUnitsPerSecond and WriteUnitsPerSecond bound the capacity used up, on average; 0 is no bound. What snapshots cost is
	// estimated by their size.
	ReadUnitsPerSecond, WriteUnitsPerSecond float64
	// CatchUp begins each persistence id at the last event that is in the target, instead of comparing all before it. What a
	// program of an older layout has deleted since the first copy is not seen so.
	CatchUp bool
	// SourceLive says that programs write to the source while it is compared: what it has newer
	// than the target is then no difference, and persistence ids that the source does not list are
	// not looked for in the target.
	SourceLive bool
	// State remembers which persistence ids are copied, so that the next run passes over them, unless it catches up. Nil
	// remembers nothing: what the target holds is compared, and the copy goes on there.
	State *State
	// Retries is how often a persistence id is tried again after its requests were throttled or unanswered in all their own
	// tries, after a pause drawn up to Pause, doubled for each try. Default to DefaultRetries and DefaultPause; negative
	// Retries is none.
	Retries int
	Pause   time.Duration
	// Progress is called after each persistence id, and from time to time between, one call at a time, if set.
	Progress func(Progress)
	// Note is told of what today's layout has no place for, one call at a time, if set.
	Note func(Note)
}

// Progress is how far a run has come.
type Progress struct{ PersistenceIDs, Events int64 }

func (o Options) complete() (Options, error) {
	for name, v := range map[string]float64{
		"Options.Parallelism":         float64(o.Parallelism),
		"Options.ReadUnitsPerSecond":  o.ReadUnitsPerSecond,
		"Options.WriteUnitsPerSecond": o.WriteUnitsPerSecond,
		"Options.Pause":               float64(o.Pause),
	} {
		if v < 0 {
			return o, &dynajournal.ArgumentError{Argument: name, Value: v, Reason: "it must not be negative"}
		}
	}
	if o.Parallelism == 0 {
		o.Parallelism = DefaultParallelism
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	if o.Pause == 0 {
		o.Pause = DefaultPause
	}
	return o, nil
}

// Summary is what a run has done.
type Summary struct {
	// PersistenceIDs is how many were gone through, Skipped how many more the state says are copied.
	PersistenceIDs, Skipped int64
	// Events is how many events were gone through, Written how many of them were not in the target.
	Events, Written int64
	// Snapshots is how many snapshots were gone through, SnapshotsWritten how many were not in the target.
	Snapshots, SnapshotsWritten int64
	// MarkedDeleted, Confirmed and Unreadable count events that Options.Note was told of; Confirmations those of all of them.
	MarkedDeleted, Confirmed, Confirmations, Unreadable int64
	// Failures are the persistence ids that could not be copied, at most MaxFailures of them; Failed is how many.
	Failures []Failure
	Failed   int64
}

// MaxFailures bounds the failures that a summary names.
const MaxFailures = 100

// Failure is a persistence id that could not be copied as a whole, and why. What was copied of it stays, and is right.
type Failure struct {
	PersistenceID string
	Err           error
}

// Errors of this package, for errors.Is. Those of package dynajournal are returned besides, with the same meaning.
var (
	// ErrIncomplete: some persistence ids could not be copied; the error is an *IncompleteError. The others are.
	ErrIncomplete = errors.New("not everything was copied")
	// ErrDifferent: source and target differ; the error is a *DifferentError.
	ErrDifferent = errors.New("the target is not the same as the source")
)

// IncompleteError says how many persistence ids could not be copied, and why the first of them. errors.Is ErrIncomplete.
type IncompleteError struct {
	Failed int64
	First  Failure
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%v: %d persistence ids failed, the first: %q: %v", ErrIncomplete, e.Failed, e.First.PersistenceID, e.First.Err)
}

// Is makes it ErrIncomplete.
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

func (e *IncompleteError) Unwrap() error { return e.First.Err }

// Run copies persistence ids from the source to the target. Each is copied as dynajournal.PutRecords does it: in order, under
// the condition that nothing stands there, and compared where something does. So Run can be cut short at any point, and called
// again; a persistence id whose content in the target is not that of the source fails with a *dynajournal.ContentConflictError,
// and nothing of it is written over. Writers of the source may go on meanwhile; the target must have none.
//
// Errors: *IncompleteError after all the others are copied, ErrInvalidArgument, and what ends it for all: the context,
// ErrClosed, ErrDenied, ErrTableNotFound.
func Run(ctx context.Context, source Source, target *dynajournal.Journal, opts Options) (Summary, error) {
	r, err := newRun(source, target, opts)
	if err != nil {
		return Summary{}, err
	}
	err = r.each(ctx, r.listed(nil), func(ctx context.Context, pid string) error {
		if !r.opts.CatchUp && r.opts.State.done(pid) {
			r.count(func(s *Summary) { s.Skipped++ })
			return nil
		}
		return r.tried(ctx, pid, r.copy)
	})
	return r.summary, errors.Join(err, r.incomplete())
}

// run is a run under way.
type run struct {
	source Source
	target *dynajournal.Journal
	opts   Options
	read   *rate.Limiter // nil without a bound
	write  *rate.Limiter

	mu      sync.Mutex
	summary Summary
}

func newRun(source Source, target *dynajournal.Journal, opts Options) (*run, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	return &run{source: source, target: target, opts: opts, read: limiter(opts.ReadUnitsPerSecond), write: limiter(opts.WriteUnitsPerSecond)}, nil
}

func limiter(units float64) *rate.Limiter {
	if units == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(units), max(int(units), 1))
}

// pace waits until what was used up is paid for.
func (r *run) pace(ctx context.Context, used dynajournal.Cost) error {
	return errors.Join(pay(ctx, r.read, used.ReadUnits), pay(ctx, r.write, used.WriteUnits))
}

// Pace bounds what is used up, in capacity units a second, by waiting: for whatever takes such a function. 0 is no bound.
func Pace(readUnits, writeUnits float64) func(ctx context.Context, used dynajournal.Cost) error {
	r := &run{read: limiter(readUnits), write: limiter(writeUnits)}
	return r.pace
}

func pay(ctx context.Context, l *rate.Limiter, units float64) error {
	if l == nil || units == 0 {
		return nil
	}
	for left := int(units + 0.5); left > 0; left -= l.Burst() {
		if err := l.WaitN(ctx, min(left, l.Burst())); err != nil {
			return fmt.Errorf("keep to the capacity: %w", err)
		}
	}
	return nil
}

// count changes the summary, and tells the progress.
func (r *run) count(change func(*Summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.summary)
	if r.opts.Progress != nil {
		r.opts.Progress(Progress{r.summary.PersistenceIDs, r.summary.Events})
	}
}

func (r *run) note(n Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.MarkedDeleted {
		r.summary.MarkedDeleted++
	}
	if len(n.Confirmations) > 0 {
		r.summary.Confirmed++
		r.summary.Confirmations += int64(len(n.Confirmations))
	}
	if n.Unreadable != nil {
		r.summary.Unreadable++
	}
	if r.opts.Note != nil {
		r.opts.Note(n)
	}
}

func (r *run) incomplete() error {
	if r.summary.Failed == 0 {
		return nil
	}
	return &IncompleteError{r.summary.Failed, r.summary.Failures[0]}
}

// listed lists the persistence ids that are meant: those of the options, else all of the source.
// seen is told of each, if set.
func (r *run) listed(seen func(pid string)) func(context.Context) iter.Seq2[string, error] {
	return func(ctx context.Context) iter.Seq2[string, error] {
		pids := r.source.PersistenceIDs(ctx)
		if len(r.opts.PersistenceIDs) > 0 {
			pids = func(yield func(string, error) bool) {
				for _, pid := range r.opts.PersistenceIDs {
					if !yield(pid, nil) {
						return
					}
				}
			}
		}
		return func(yield func(string, error) bool) {
			for pid, err := range pids {
				if err == nil && seen != nil {
					seen(pid)
				}
				if !yield(pid, err) {
					return
				}
			}
		}
	}
}

// each does something with every persistence id of a list, several at the same time.
func (r *run) each(ctx context.Context, list func(context.Context) iter.Seq2[string, error], do func(context.Context, string) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(r.opts.Parallelism)
	for pid, err := range list(working) {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, pid) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// tried does something with a persistence id, again after throttling and outages. An error that concerns this id alone becomes a
// failure; what concerns all is returned.
func (r *run) tried(ctx context.Context, pid string, do func(context.Context, string) error) error {
	for try := 0; ; try++ {
		err := do(ctx, pid)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case temporary(err) && try < r.opts.Retries:
			if err := r.pause(ctx, try); err != nil {
				return err
			}
			continue
		case temporary(err), concernsAll(err):
			return err
		}
		r.count(func(s *Summary) {
			s.Failed++
			if len(s.Failures) < MaxFailures {
				s.Failures = append(s.Failures, Failure{pid, err})
			}
		})
		return nil
	}
}

// temporary says whether an error is one that a later try may not meet.
func temporary(err error) bool {
	return errors.Is(err, dynajournal.ErrThrottled) || errors.Is(err, dynajournal.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

func concernsAll(err error) bool {
	return slices.ContainsFunc([]error{dynajournal.ErrClosed, dynajournal.ErrDenied, dynajournal.ErrTableNotFound, errState},
		func(all error) bool { return errors.Is(err, all) })
}

// maxDoublings keeps the doubling of a pause within reason.
const maxDoublings = 6

func (r *run) pause(ctx context.Context, try int) error {
	longest := r.opts.Pause << min(try, maxDoublings)
	timer := time.NewTimer(rand.N(longest + 1)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// copy copies one persistence id: its events, and then its snapshots, which must not be ahead of them.
func (r *run) copy(ctx context.Context, pid string) error {
	var notes []Note
	opts := ReadOptions{Pace: r.pace, Note: func(n Note) { notes = append(notes, n) }}
	records := r.source.Records(ctx, pid, opts)
	if r.opts.CatchUp {
		var err error
		if records, err = r.new(ctx, pid, opts); err != nil {
			return err
		}
	}
	copied, err := r.target.PutRecords(ctx, pid, r.counted(records), dynajournal.PutRecordsOptions{Pace: r.pace})
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	snapshots, written, err := r.snapshots(ctx, pid)
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

// counted tells the progress of a long history from time to time.
func (r *run) counted(records iter.Seq2[dynajournal.Record, error]) iter.Seq2[dynajournal.Record, error] {
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

// new is the history from the last event on that is whole in the target. A low mark that is not that of the target begins it,
// as it may have to say what it cuts.
func (r *run) new(ctx context.Context, pid string, opts ReadOptions) (iter.Seq2[dynajournal.Record, error], error) {
	bounds, err := r.target.Bounds(ctx, pid)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it is
	}
	if opts.From, err = r.last(ctx, pid, bounds); err != nil {
		return nil, err
	}
	return func(yield func(dynajournal.Record, error) bool) {
		first, next, stop := begun(r.source.Records(ctx, pid, opts))
		if first.Kind == dynajournal.RecordLowMark && first.SequenceNumber != bounds.Lowest && first.SequenceNumber < opts.From {
			stop()
			opts.From = first.SequenceNumber
			_, next, stop = begun(r.source.Records(ctx, pid, opts))
		}
		defer stop()
		for record, err, ok := next(); ok; record, err, ok = next() {
			if !yield(record, err) {
				return
			}
		}
	}, nil
}

// begun begins to read records, and looks at the first, which next gives all the same.
func begun(records iter.Seq2[dynajournal.Record, error]) (first dynajournal.Record, next func() (dynajournal.Record, error, bool), stop func()) {
	pull, stop := iter.Pull2(records)
	first, err, ok := pull()
	told := false
	return first, func() (dynajournal.Record, error, bool) {
		if !told {
			told = true
			return first, err, ok
		}
		return pull()
	}, stop
}

// last is where the last event, atomic write or closed span of the target begins, so that a copy that goes on there compares it.
// It looks back over the parts of an atomic write that an earlier copy has left.
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

// The units that a snapshot is taken to cost: one for each 4 KiB read, and for each KiB written.
const readUnit, writeUnit = 4 << 10, 1 << 10

func (r *run) snapshots(ctx context.Context, pid string) (found, written int64, err error) {
	for s, err := range r.source.Snapshots(ctx, pid) {
		if err != nil {
			return found, written, err
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
