package migration

import (
	"context"
	"errors"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal"
)

// Run copies persistence ids from the source to the target, each as dynajournal.PutRecords does: in
// order, on the condition that nothing is stored at the key, and compared with the stored content.
// So Run can be interrupted at any point and called again. If a persistence id has different
// content in the target, it fails with a *dynajournal.ContentConflictError, and nothing is
// overwritten. Writers of the source may continue. The target must have no writers.
//
// Errors: [*IncompleteError] after all other ids are copied, ErrInvalidArgument, and errors that
// concern all ids: the error of ctx, ErrClosed, ErrDenied, ErrTableNotFound.
func Run(ctx context.Context, source Source, target *dynajournal.Journal, opts Options) (Summary, error) {
	r, err := newRun(source, target, opts)
	if err != nil {
		return Summary{}, err
	}
	err = r.each(ctx, r.listed, func(ctx context.Context, pid string) error {
		if !r.opts.CatchUp && r.opts.State.done(pid) {
			r.count(func(s *Summary) { s.Skipped++ })
			return nil
		}
		return r.runWithRetries(ctx, pid, r.copy)
	})
	return r.summary, errors.Join(err, r.incomplete())
}

// run is a run in progress.
type run struct {
	source Source
	target *dynajournal.Journal
	opts   Options
	read   *rate.Limiter // nil without a limit
	write  *rate.Limiter

	mu      sync.Mutex
	summary Summary
}

func newRun(source Source, target *dynajournal.Journal, opts Options) (*run, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	return &run{source: source, target: target, opts: opts, read: limiter(opts.ReadUnitsPerSecond),
		write: limiter(opts.WriteUnitsPerSecond)}, nil
}

// count changes the summary and reports the progress.
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

// listed lists the persistence ids in the options, or all ids of the source.
func (r *run) listed(ctx context.Context) iter.Seq2[string, error] {
	if len(r.opts.PersistenceIDs) == 0 {
		return r.source.PersistenceIDs(ctx)
	}
	return func(yield func(string, error) bool) {
		for _, pid := range r.opts.PersistenceIDs {
			if !yield(pid, nil) {
				return
			}
		}
	}
}

// each runs do for every persistence id in a list, several at the same time.
func (r *run) each(
	ctx context.Context, list func(context.Context) iter.Seq2[string, error], do func(context.Context, string) error,
) error {
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
