package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// pay pays the due debts of a projection, until ctx ends. While payments make progress, it polls
// again soon.
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

// payPage reads a page of the debts of a projection, and waits until the due ones are paid. Outside
// of Lambda it waits only until the next poll. It reports whether a payment made progress: it has
// handled something, or has found nothing to handle.
func (s *Schedule) payPage(ctx context.Context, of *Member) (bool, error) {
	page, err := s.group.debts(ctx, of)
	if err != nil || of.Paused.Load() {
		return false, err
	}
	now := s.group.Now()
	due := slices.IndexFunc(page, func(debt DebtEntry) bool { return debt.Due.After(now) })
	if due < 0 {
		due = len(page)
	}
	// Other processes pay the same debts. In a random order they rarely meet at one debt.
	swap := func(i, j int) { page[i], page[j] = page[j], page[i] }
	rand.Shuffle(due, swap) //nolint:gosec // any order will do
	ended := make(chan bool, due)
	probes, started := of.unreachable.lasts(), 0
	for _, debt := range page[:due] {
		if started > 0 && probes {
			break // one payment finds out whether the outage is over
		}
		if s.payOne(of, debt, probes, ended) {
			started++
		}
	}
	var next <-chan time.Time
	if s.invocation == nil {
		timer := time.NewTimer(s.group.Config.payEvery())
		defer timer.Stop()
		next = timer.C
	}
	paid := false
	for range started {
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

// payOne creates a task that pays a debt, and reports whether it did. It does not if there is such
// a task already, or if the handler of the persistence id does not return in this process: another
// process then has to pay. The task sends to ended whether it made progress.
func (s *Schedule) payOne(of *Member, debt DebtEntry, probes bool, ended chan<- bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &task{of: of, pid: debt.PersistenceID, pays: true, probes: probes, received: debt.Since}
	if s.ended || s.tasks[t.key()] != nil || s.hangs(of, debt.PersistenceID) {
		return false
	}
	t.waiting = []Trigger{{Done: func() {
		s.mu.Lock()
		gotOn := t.progressed
		s.mu.Unlock()
		ended <- gotOn
	}}}
	s.tasks[t.key()] = t
	s.enqueue(t)
	return true
}
