package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// errPaused reports that a run has ended because its projection is paused.
var errPaused = errors.New("the projection is paused")

// longestWatch is the longest interval at which a process reads whether projections are paused.
// parkedWatch is the longest interval while triggers of a paused projection wait.
const (
	longestWatch = 10 * time.Second
	parkedWatch  = 250 * time.Millisecond
)

// watch polls whether the projections are paused, until ctx ends. It polls sooner while triggers of
// a paused projection wait: they are done if the projection is still paused in a poll that started
// after they came. operator.Operator.Continue then comes after their events, and the sweep that it
// requests finds them. A poll that fails changes nothing.
func (s *Schedule) watch(ctx context.Context) {
	every := min(s.group.Config.ClaimTimeout/Renewals, longestWatch)
	for {
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-s.parking:
			_ = backoff.Wait(ctx, min(parkedWatch, every)) // for triggers that come together
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		if err := s.poll(ctx); err != nil && ctx.Err() == nil {
			s.group.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "whether projections are paused could not be read",
				slog.String("event", "projection.pauses_unreadable"), slog.String("group", s.group.Config.Name), slog.Any("error", err))
			s.signalParked()
		}
	}
}

// parked is a task of a paused projection, with the triggers that it had when a poll started.
type parked struct {
	*task

	covered []Trigger
}

// poll reads whether the projections are paused. It then removes or enqueues the parked tasks.
func (s *Schedule) poll(ctx context.Context) error {
	s.mu.Lock()
	var waiting []parked
	for t := range s.parked {
		waiting = append(waiting, parked{t, t.waiting})
		t.waiting, t.asked = nil, false
	}
	s.mu.Unlock()
	all, err := s.group.standings(ctx)
	s.mu.Lock()
	var done []Trigger
	defer func() {
		s.mu.Unlock()
		allDone(done)
	}()
	if err == nil {
		for i, of := range s.group.Members {
			if of.see(all[i]) {
				s.continued()
			}
		}
	}
	for _, p := range waiting {
		if err == nil && p.of.Paused.Load() {
			done = append(done, p.covered...)
			if len(p.waiting) == 0 {
				delete(s.parked, p.task)
				delete(s.tasks, p.key())
				continue
			}
		} else {
			p.waitFor(p.covered)
		}
		if err == nil && !p.of.Paused.Load() {
			delete(s.parked, p.task)
			s.enqueue(p.task)
			continue
		}
		s.signalParked()
	}
	return err
}

// park sets a task of a paused projection aside until the next poll. The caller holds the lock.
func (s *Schedule) park(t *task) {
	t.state = taskParked
	s.parked[t] = true
	s.signalParked()
}

func (s *Schedule) signalParked() {
	select {
	case s.parking <- struct{}{}:
	default:
	}
}

// continued wakes a source that waits for its next sweep.
func (s *Schedule) continued() {
	select {
	case s.resumed <- struct{}{}:
	default:
	}
}
