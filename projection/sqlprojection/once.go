package sqlprojection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// refusal reports that a step failed in a transaction. Nothing of the transaction is stored.
type refusal struct {
	// good is the number of steps before it that succeeded. They are retried without it.
	good int
	// err is nil if it is not known which step failed.
	err error
}

func (e *refusal) Error() string { return fmt.Sprintf("step %d: %v", e.good+1, e.err) }

// Writes returns 0: the offset is in the database.
func (*sqlOffsets) Writes([]engine.Step) (requests, units int) { return 0, 0 }

// Apply calls the handler for several steps in a transaction that also stores the offset, on
// condition that the offset has not changed since it was read. It reports whether it has handled
// all steps: it stops after a third of Config.ClaimTimeout. If a step fails, the steps before it
// are done in a transaction without it, and then the failure counts.
//
// If the outcome of a commit is unknown, the next run reads it from the row.
func (o *sqlOffsets) Apply(ctx context.Context, r *engine.Run, state *engine.Row, steps []engine.Step) (bool, error) {
	if err := r.CountBefore(ctx, state, &steps[0]); err != nil {
		return false, err
	}
	at, n := stored{state.Offset, state.Started}, len(steps)
	var failed error
	for {
		done, err := o.commit(ctx, r, at, steps[:n])
		if err == nil {
			r.Handled(steps[:done])
			err = noteHoles(ctx, r, steps[done-1].To)
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
			return false, o.refused(ctx, r, state, stored{steps[n-1].To, true}, &steps[n], failed)
		}
		return done == len(steps), nil
	}
}

// refused counts a failure of the handler after an offset. The failure is not stored in the same
// database as the offset, so refused reads the offset again: another process may have moved it.
func (o *sqlOffsets) refused(ctx context.Context, r *engine.Run, state *engine.Row, at stored, s *engine.Step, err error) error {
	failure, attempt := r.Failure(s, err), int64(1)
	if at.Offset == state.Offset {
		attempt = r.Attempt(state)
	}
	if !r.LastAttempt(at.Offset, attempt) {
		return r.CountFailure(ctx, failure, attempt, state.Unchanged())
	}
	now, err := o.read(ctx, r.Pid)
	switch {
	case err != nil:
		return err
	case now.started != at.started || now.started && now.Offset != at.Offset:
		return engine.ErrAgain
	}
	return r.Stick(ctx, failure, engine.Change{}, state.Unchanged().And(state.SameClaim()))
}

// noteHoles stores in the projections table which missing numbers the run has passed, up to a
// stored offset, and that no attempt is counted there. After a crash before that, an event that is
// stored at such a number too late is not reported.
func noteHoles(ctx context.Context, r *engine.Run, to engine.Offset) error {
	c := r.Moved(to)
	delete(c.Set, engine.AttrSeq)
	delete(c.Set, engine.AttrWriter)
	if len(c.Set)+len(c.Removed) == 0 {
		return nil
	}
	return r.Group.Table.Update(ctx, r.Key, c, engine.Condition{Expression: engine.Always, Values: dynamo.Attributes{}})
}

// commit does steps and stores the offset in one transaction. It returns the number of steps done.
// If a step has failed, nothing is stored, and the error is a *refusal. After any other error
// either nothing is stored, or everything.
func (o *sqlOffsets) commit(ctx context.Context, r *engine.Run, at stored, steps []engine.Step) (int, error) {
	// One part each for the lock, the steps, a last call of the handler, and the commit.
	const parts = 4
	if err := o.take(ctx); err != nil {
		return 0, err
	}
	defer o.give()
	within, cancel := context.WithTimeout(ctx, parts*o.limit)
	defer cancel()
	t, err := o.start(within, r.Pid, at)
	if err != nil {
		return 0, why(ctx, r, err)
	}
	defer t.end()
	start, done := time.Now(), 0
	for i := range steps {
		if done > 0 && time.Since(start) >= o.limit {
			break
		}
		err := r.Call(within, steps[i:i+1], o.limit, func(ctx context.Context) error {
			err := t.handle(ctx, r, &steps[i], at)
			return errors.Join(err, ctx.Err()) // the connection may be lost for the deadline
		})
		if err == nil {
			err = t.whole(within)
		}
		if err != nil {
			return 0, t.blame(ctx, r, i, err)
		}
		done++
	}
	// A step's error may surface only here. Retries with fewer steps find the step.
	if err := t.move(within, steps[done-1].To); err != nil {
		return 0, t.blameLate(ctx, r, done, err)
	}
	if err := t.tx.Commit(); err != nil {
		if o.dialect.violates(err) {
			return 0, t.blameLate(ctx, r, done, err)
		}
		return 0, why(ctx, r, again(err))
	}
	return done, nil
}

// again returns engine.ErrAgain if a transaction has failed because of a conflict with another one.
func again(err error) error {
	if isConflict(err) {
		return fmt.Errorf("%w: %w", engine.ErrAgain, err)
	}
	return err
}

// why returns the error of a transaction, or the cause if the group ends.
func why(ctx context.Context, r *engine.Run, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, engine.ErrAgain) || r.Group.Fatal(err) {
		return err
	}
	return fmt.Errorf("projection %s of %q: %w", r.Of.Name, r.Pid, err)
}

// blame returns the error of a handler: a *refusal if it is a failure of the step after the good
// ones, and another error if it is temporary.
func (t *transaction) blame(ctx context.Context, r *engine.Run, good int, err error) error {
	late := errors.Is(err, context.DeadlineExceeded)
	delayed := errors.As(err, new(*engine.DelayedError))
	switch lost := t.broken(ctx); {
	case ctx.Err() != nil, isConflict(err):
		return why(ctx, r, again(err))
	case delayed:
		return why(ctx, r, err)
	case late:
	case t.dialect.isTemporary(err):
		return why(ctx, r, err)
	case lost != nil:
		return why(ctx, r, fmt.Errorf("the connection is lost: %w: %w", lost, err))
	}
	return &refusal{good, err}
}

// blameLate returns the error at the end of a transaction of some steps. If a step has failed, but
// it is not known which, the first half of the steps is retried alone, until one step is left.
func (t *transaction) blameLate(ctx context.Context, r *engine.Run, steps int, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return why(ctx, r, err)
	}
	err = t.blame(ctx, r, steps/2, err)
	if refused := new(refusal); steps > 1 && errors.As(err, &refused) {
		refused.err = nil
	}
	return err
}

// handle calls the handler for a step.
func (t *transaction) handle(ctx context.Context, r *engine.Run, s *engine.Step, at stored) error {
	switch {
	case s.LeftOut:
		return nil
	case s.Purge:
		if h, ok := t.handler.(PurgeHandler); ok {
			return h.HandlePurge(ctx, t.tx, projection.Purge{PersistenceID: r.Pid, Offset: at.Seq, Last: s.To.Seq})
		}
		return nil
	case s.Event == nil:
		if h, ok := t.handler.(GapHandler); ok {
			return h.HandleGap(ctx, t.tx, projection.Gap{PersistenceID: r.Pid, First: s.First, Last: s.To.Seq})
		}
		return nil
	}
	return r.EachEvent(ctx, s, func(event dynajournal.Event) error { return t.handler.Handle(ctx, t.tx, event) })
}
