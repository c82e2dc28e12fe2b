package projection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// refusal is the failure of a step in a transaction, of which nothing is stored.
type refusal struct {
	// good is how many steps before it had succeeded. They are tried without it.
	good int
	// err is nil if the step is not known.
	err error
}

func (e *refusal) Error() string { return fmt.Sprintf("step %d: %v", e.good+1, e.err) }

// writes returns 0: the offset is in the database.
func (*sqlOffsets) writes([]step) (requests, units int) { return 0, 0 }

// apply calls the handler for several steps in a transaction that also stores the offset, under the
// condition that the offset is what was read. It reports whether it has handled all: it stops when
// a third of Config.ClaimTimeout is over. If a step fails, those before it are done in a
// transaction without it, and then the failure counts.
//
// Where the outcome of a commit is unknown, the next run reads it from the row.
func (o *sqlOffsets) apply(ctx context.Context, r *run, state *row, steps []step) (bool, error) {
	if err := r.countBefore(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	at, n := stored{state.offset, state.begun}, len(steps)
	var failed error
	for {
		done, err := o.commit(ctx, r, at, steps[:n])
		if err == nil {
			r.count.handled(steps[:done])
			err = r.noteHoles(ctx, state, steps[done-1].to)
		}
		refused := new(refusal)
		switch {
		case errors.As(err, &refused) && refused.good > 0:
			n, failed = refused.good, refused.err
			continue
		case errors.As(err, &refused):
			return false, o.refused(ctx, r, state, at, &steps[0], refused.err)
		case err != nil:
			return false, err
		case done == n && failed != nil:
			return false, o.refused(ctx, r, state, stored{steps[n-1].to, true}, &steps[n], failed)
		}
		return done == len(steps), nil
	}
}

// refused does what follows from a failure of the handler behind an offset. The failure is stored
// elsewhere than the offset, so the offset is read again: another process may have come further.
func (o *sqlOffsets) refused(ctx context.Context, r *run, state *row, at stored, s *step, err error) error {
	failure, attempt := r.failure(s, err), int64(1)
	if at.offset == state.offset {
		attempt = r.attempt(state)
	}
	if !r.lastAttempt(at.offset, attempt) {
		return r.countFailure(ctx, failure, attempt, state.unchanged())
	}
	now, err := o.read(ctx, r.pid)
	switch {
	case err != nil:
		return err
	case now.begun != at.begun || now.begun && now.offset != at.offset:
		return errAgain
	}
	return r.stick(ctx, failure, change{}, state.unchanged())
}

// noteHoles stores which missing numbers the run has passed, up to an offset that is stored, and
// that no attempt is counted there. They are in the projections table. After a crash before that,
// an event that comes there too late is not told.
func (r *run) noteHoles(ctx context.Context, state *row, to offset) error {
	c := r.moved(to)
	delete(c.set, attrSeq)
	delete(c.set, attrWriter)
	if len(c.set)+len(c.removed) == 0 {
		return nil
	}
	return r.group.table.update(ctx, r.key, c, state.unchanged())
}

// commit does steps and stores the offset in one transaction. It returns how many. If a step has
// failed, nothing is stored, and the error is a *refusal; if something else has, nothing may be
// stored, or all.
func (o *sqlOffsets) commit(ctx context.Context, r *run, at stored, steps []step) (int, error) {
	// One part each for the lock, the steps, a last call of the handler, and the commit.
	const parts = 4
	if err := o.take(ctx); err != nil {
		return 0, err
	}
	defer o.give()
	within, cancel := context.WithTimeout(ctx, parts*o.limit)
	defer cancel()
	t, err := o.begin(within, r.pid, at)
	if err != nil {
		return 0, r.whySQL(ctx, err)
	}
	defer t.end()
	began, done := time.Now(), 0
	for i := range steps {
		if done > 0 && time.Since(began) >= o.limit {
			break
		}
		err := r.call(within, o.limit, func(ctx context.Context) error {
			err := r.handleSQL(ctx, t, &steps[i], at)
			return errors.Join(err, ctx.Err()) // the connection may be lost for the deadline
		})
		if err == nil {
			err = t.whole(within)
		}
		if err != nil {
			return 0, r.blame(ctx, t, i, err)
		}
		done++
	}
	// What a handler has broken may show only now. Which one has, a transaction of one step shows.
	if err := t.move(within, steps[done-1].to); err != nil {
		return 0, r.blameLate(ctx, t, done, err)
	}
	if err := t.tx.Commit(); err != nil {
		if o.dialect.violates(err) {
			return 0, r.blameLate(ctx, t, done, err)
		}
		return 0, r.whySQL(ctx, again(err))
	}
	return done, nil
}

// again returns errAgain for an error of a transaction that has met another one.
func again(err error) error {
	if met(err) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// whySQL returns the error of a transaction, or why the group ends.
func (r *run) whySQL(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errAgain) || ends(err) {
		return err
	}
	return fmt.Errorf("projection %s of %q: %w", r.of.name, r.pid, err)
}

// blame returns the error of a handler: a *refusal if it is a failure, of the step behind the good
// ones, and another error if it passes.
func (r *run) blame(ctx context.Context, t *transaction, good int, err error) error {
	late := errors.Is(err, context.DeadlineExceeded)
	switch lost := t.broken(ctx); {
	case ctx.Err() != nil, met(err):
		return r.whySQL(ctx, again(err))
	case late:
	case t.dialect.passes(err):
		return r.whySQL(ctx, err)
	case lost != nil:
		return r.whySQL(ctx, fmt.Errorf("the connection is lost: %w: %w", lost, err))
	}
	return &refusal{good, err}
}

// blameLate returns the error of the end of a transaction of some steps. If it is the failure of
// one of them, half of the steps are tried without the others, until there is one.
func (r *run) blameLate(ctx context.Context, t *transaction, steps int, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return r.whySQL(ctx, err)
	}
	err = r.blame(ctx, t, steps/2, err)
	if refused := new(refusal); steps > 1 && errors.As(err, &refused) {
		refused.err = nil
	}
	return err
}

// handleSQL calls the handler for a step.
func (r *run) handleSQL(ctx context.Context, t *transaction, s *step, at stored) error {
	switch {
	case s.leftOut:
		return nil
	case s.purge:
		if h, ok := t.handler.(SQLPurgeHandler); ok {
			return h.HandlePurge(ctx, t.tx, Purge{r.pid, at.seq, s.to.seq})
		}
		return nil
	case s.event == nil:
		if h, ok := t.handler.(SQLGapHandler); ok {
			return h.HandleGap(ctx, t.tx, Gap{r.pid, s.first, s.to.seq})
		}
		return nil
	}
	return r.eachEvent(ctx, s, func(event dynajournal.Event) error { return t.handler.Handle(ctx, t.tx, event) })
}
