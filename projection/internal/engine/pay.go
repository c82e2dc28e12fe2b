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
		if paid, _ := s.payPage(ctx, of); paid { // an error is logged
			pause = min(pause, s.group.Config.RetryShortest)
		}
		if backoff.Wait(ctx, pause) != nil {
			return
		}
	}
}

// payPage reads a page of the debts of a projection, and waits until those that are due are paid.
// In a group it waits no longer than until the next look. It reports whether a payment got on: it
// has handled something, or has found nothing to handle.
func (s *Schedule) payPage(ctx context.Context, of *Member) (bool, error) {
	page, err := s.group.debts(ctx, of)
	if err != nil || of.Paused.Load() {
		return false, err
	}
	now := s.group.Now()
	due := slices.IndexFunc(page, func(owed OwedRun) bool { return owed.Due.After(now) })
	if due < 0 {
		due = len(page)
	}
	// Other processes pay the same debts: few are to meet at one of them.
	swap := func(i, j int) { page[i], page[j] = page[j], page[i] }
	rand.Shuffle(due, swap) //nolint:gosec // any order will do
	ended := make(chan bool, due)
	probes, begun := of.unreachable.lasts(), 0
	for _, owed := range page[:due] {
		if begun > 0 && probes {
			break // one finds out whether the outage is over
		}
		if s.payOne(of, owed, probes, ended) {
			begun++
		}
	}
	var next <-chan time.Time
	if s.invocation == nil {
		timer := time.NewTimer(s.group.Config.payEvery())
		defer timer.Stop()
		next = timer.C
	}
	paid := false
	for range begun {
		select {
		case gotOn := <-ended:
			paid = paid || gotOn
		case <-next:
			return paid, nil
		case <-ctx.Done():
			return false, nil
		}
	}
	return paid, nil
}

// payOne makes a task that pays a debt, unless there is one, or the handler of the persistence id
// does not return in this process: then another process has to pay. It sends to ended whether the
// task got on.
func (s *Schedule) payOne(of *Member, owed OwedRun, probes bool, ended chan<- bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &task{of: of, pid: owed.PersistenceID, pays: true, probes: probes, received: owed.Since}
	if s.ended || s.tasks[t.key()] != nil || s.hangs(of, owed.PersistenceID) {
		return false
	}
	t.waiting = []Trigger{{Done: func() {
		s.mu.Lock()
		gotOn := t.gotOn
		s.mu.Unlock()
		ended <- gotOn
	}}}
	s.tasks[t.key()] = t
	s.enqueue(t)
	return true
}

// hangs reports whether the handler of a persistence id has not returned in this process. The
// caller holds the lock.
func (s *Schedule) hangs(of *Member, pid string) bool {
	for t := range s.left {
		if t.of == of && t.pid == pid {
			return true
		}
	}
	payment := s.tasks[taskKey{of.Name, pid, true}]
	return payment != nil && payment.hangs
}

// debts reads the first page of the debts of a projection, in the order in which they are due, and
// notes whether the index of debts can be read.
func (g *Group) debts(ctx context.Context, of *Member) ([]OwedRun, error) {
	page, _, err := g.Table.Debts(ctx, of.Name, nil)
	switch {
	case err == nil:
		g.indexed.Store(true)
		g.toldOfIndex.Store(false)
	case ctx.Err() != nil:
		return nil, err
	case IsNoIndex(err):
		g.indexed.Store(false)
		if g.toldOfIndex.CompareAndSwap(false, true) {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the index of debts can't be read: "+
				"what a projection can't reach holds up the group; run `dynajournal tables update`",
				slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		return nil, err
	default:
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the debts of a projection could not be read",
			slog.String("projection", of.Name), slog.Any("error", err))
		return nil, err
	}
	seen := owedRuns{runs: len(page)}
	for i := range page {
		if i == 0 || page[i].Since.Before(seen.since) {
			seen.since = page[i].Since
		}
	}
	of.debts.Store(&seen)
	return page, nil
}

// findIndex finds out whether the index of debts can be read. A group runs without it, too.
func (g *Group) findIndex(ctx context.Context) {
	_, _ = g.debts(ctx, g.Members[0]) // that is logged
}

// putIntoDebt stores a debt for a task that would wait for too long, so that its triggers are done.
// It returns the outcome as it is then.
func (s *Schedule) putIntoDebt(ctx context.Context, t *task, r *Run, o outcome) outcome {
	s.mu.Lock()
	waited := o.pause
	if !t.waits.IsZero() {
		waited += time.Since(t.waits)
	}
	s.mu.Unlock()
	if !o.waits() || t.pays || !s.group.indexed.Load() || waited < s.patience() {
		return o
	}
	if err := r.owe(ctx, o.err, o.pause); err != nil {
		return o // it is tried again after the next run
	}
	s.group.holes.forget(taskKey{name: t.of.Name, pid: t.pid}) // the row has their ages
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
// done, and those that come later. replaced reports whether another worker has its place.
func (s *Schedule) leave(ctx context.Context, t *task, r *Run, replaced bool) {
	s.mu.Lock()
	if t.covered == nil || t.overdue {
		s.mu.Unlock()
		return // its run has ended meanwhile, or this is a later call of the run
	}
	if replaced {
		t.overdue = true
		if s.turns.end(t.of); s.turns.ready() {
			s.signal()
		}
	}
	if t.pays { // the row has the debt
		triggers := t.covered
		t.covered, t.hangs = []Trigger{}, true
		s.mu.Unlock()
		for _, by := range triggers {
			by.Done()
		}
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
	s.left[t] = true
	triggers := append(t.covered, t.waiting...)
	s.mu.Unlock()
	for n := 0; r.owe(ctx, errOverdue, 0) != nil; n++ {
		if backoff.Wait(ctx, s.group.Config.retries().After(n)) != nil {
			return
		}
	}
	for _, by := range triggers {
		by.Done()
	}
}
