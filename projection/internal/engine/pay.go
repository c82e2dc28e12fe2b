package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// owedRuns are the debts of a projection that a look has found: at most debtsPage of them.
type owedRuns struct {
	runs int
	// since is when the oldest of them was stored.
	since time.Time
}

// pay pays the debts of a projection that are due, until ctx ends. While it gets on, it looks again
// soon.
func (s *Schedule) pay(ctx context.Context, of *Member) {
	for {
		pause := s.group.Config.payEvery()
		if s.payPage(ctx, of) {
			pause = min(pause, s.group.Config.RetryShortest)
		}
		if backoff.Wait(ctx, pause) != nil {
			return
		}
	}
}

// payPage reads a page of the debts of a projection, and waits until those that are due are paid,
// but not for longer than until the next look. It reports whether a payment has handled anything.
func (s *Schedule) payPage(ctx context.Context, of *Member) bool {
	if of.Paused.Load() {
		return false
	}
	page, err := s.group.debts(ctx, of)
	if err != nil {
		if s.group.indexed.Load() && ctx.Err() == nil {
			s.group.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the debts of a projection could not be read",
				slog.String("projection", of.Name), slog.Any("error", err))
		}
		return false
	}
	now := s.group.Now()
	due := slices.IndexFunc(page, func(owed OwedRun) bool { return owed.Due.After(now) })
	if due < 0 {
		due = len(page)
	}
	// Other processes pay the same debts: few are to meet at one of them.
	swap := func(i, j int) { page[i], page[j] = page[j], page[i] }
	rand.Shuffle(due, swap) //nolint:gosec // any order will do
	probes := of.unreachable.last() != nil
	ended := make(chan bool, len(page))
	begun := 0
	for _, owed := range page[:due] {
		if probes && begun > 0 {
			break
		}
		if s.payOne(of, owed, probes, ended) {
			begun++
		}
	}
	timer := time.NewTimer(s.group.Config.payEvery())
	defer timer.Stop()
	paid := false
	for range begun {
		select {
		case applied := <-ended:
			paid = paid || applied
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return paid
}

// payOne makes a task that pays a debt, unless there is one, or the handler of the persistence id
// does not return in this process: then another process has to pay. It sends to ended whether the
// task has applied anything.
func (s *Schedule) payOne(of *Member, owed OwedRun, probes bool, ended chan<- bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &task{of: of, pid: owed.PersistenceID, pays: true, probes: probes, received: owed.Since}
	if s.ended || s.tasks[t.key()] != nil || s.left[taskKey{name: of.Name, pid: owed.PersistenceID}] != nil {
		return false
	}
	t.waiting = []Trigger{{Done: func() { ended <- t.applied }}}
	s.tasks[t.key()] = t
	s.enqueue(t)
	return true
}

// debts reads the first page of the debts of a projection, in the order in which they are due, and
// notes whether the index of debts can be read.
func (g *Group) debts(ctx context.Context, of *Member) ([]OwedRun, error) {
	page, _, err := g.Table.Debts(ctx, of.Name, nil)
	switch {
	case err == nil:
		g.indexed.Store(true)
	case IsNoIndex(err):
		g.indexed.Store(false)
		return nil, err
	default:
		return nil, err
	}
	seen := owedRuns{runs: len(page)}
	for i := range page {
		if i == 0 || page[i].Since.Before(seen.since) {
			seen.since = page[i].Since
		}
	}
	of.owed.Store(&seen)
	return page, nil
}

// findIndex finds out whether the index of debts can be read. A group runs without it, too.
func (g *Group) findIndex(ctx context.Context) {
	if _, err := g.debts(ctx, g.Members[0]); err != nil && ctx.Err() == nil {
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the index of debts can't be read: "+
			"what a projection can't reach holds up the group; run `dynajournal tables update`",
			slog.String("group", g.Config.Name), slog.Any("error", err))
	}
}

// putIntoDebt stores a debt for a task that would wait for too long, so that its triggers are done.
// It returns the outcome as it is then.
func (s *Schedule) putIntoDebt(ctx context.Context, t *task, r *Run, o outcome) outcome {
	s.mu.Lock()
	waited := time.Since(t.received) + o.pause
	s.mu.Unlock()
	if !o.waits() || t.pays || !s.group.indexed.Load() || waited < s.patience() {
		return o
	}
	attempts := 0
	if o.ending == endFailed && !r.CountsInRow() {
		attempts = r.failed.count
	}
	if err := r.owe(ctx, o.err, attempts, o.pause); err != nil {
		return o // it is tried again after the next run
	}
	return outcome{ending: endOwed}
}

// patience returns how long a trigger waits at most before a debt is stored for it.
func (s *Schedule) patience() time.Duration {
	if s.invocation != nil {
		return s.invocation.patience
	}
	return s.group.Config.patience()
}

// errOverdue is why a debt is stored for a persistence id whose handler does not return.
var errOverdue = errors.New("the handler has not returned")

// leave removes a task whose handler does not return, and stores a debt for it. So its triggers are
// done, and those that come later.
func (s *Schedule) leave(ctx context.Context, t *task, r *Run) {
	s.mu.Lock()
	if t.covered == nil || t.overdue {
		s.mu.Unlock()
		return // its run has ended meanwhile, or this is a later call of the run
	}
	t.overdue = true
	if s.turns.end(t.of); s.turns.ready() {
		s.signal()
	}
	if t.pays || !s.group.indexed.Load() || s.left[t.key()] != nil {
		s.mu.Unlock()
		return // the row has the debt already, or can't have it
	}
	delete(s.tasks, t.key())
	s.left[t.key()] = t
	triggers := append(t.covered, t.waiting...)
	s.mu.Unlock()
	for n := 0; r.owe(ctx, errOverdue, 0, 0) != nil; n++ {
		if backoff.Wait(ctx, s.group.Config.retries().After(n)) != nil {
			return
		}
	}
	for _, by := range triggers {
		by.Done()
	}
}
