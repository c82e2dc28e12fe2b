package engine

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// errOverdue is the reason of a debt for a persistence id whose handler does not return.
var errOverdue = errors.New("the handler has not returned")

// abandon removes a task whose handler does not return, and stores a debt for it, so that its
// triggers, and later ones, are done. replaced reports whether another worker has replaced the
// worker of the task.
func (s *Schedule) abandon(ctx context.Context, t *task, r *Run, replaced bool) {
	s.mu.Lock()
	if t.covered == nil || t.overdue {
		s.mu.Unlock()
		return // its run has ended meanwhile, or this is a later call of the run
	}
	if replaced {
		t.overdue = true
		s.freed(t.of)
	}
	if t.pays { // the row has the debt
		triggers := t.covered
		t.covered, t.hangs = []Trigger{}, true
		s.mu.Unlock()
		allDone(triggers)
		return
	}
	s.mu.Unlock()
	for !s.group.indexed.Load() { // no debt can be stored
		if backoff.Wait(ctx, s.group.Config.payEvery()) != nil {
			return
		}
	}
	s.mu.Lock()
	if t.covered == nil || s.tasks[t.key()] != t {
		s.mu.Unlock()
		return
	}
	delete(s.tasks, t.key())
	s.abandoned[t] = true
	triggers := append(t.covered, t.waiting...)
	s.mu.Unlock()
	for n := 0; r.storeDebt(ctx, errOverdue, 0) != nil; n++ {
		if backoff.Wait(ctx, s.group.Config.retries().After(n)) != nil {
			return
		}
	}
	allDone(triggers)
}

// hangs reports whether the handler of a persistence id has not returned in this process. The
// caller holds the lock.
func (s *Schedule) hangs(of *Member, pid string) bool {
	for t := range s.abandoned {
		if t.of == of && t.pid == pid {
			return true
		}
	}
	payment := s.tasks[taskKey{of.Name, pid, true}]
	return payment != nil && payment.hangs
}
