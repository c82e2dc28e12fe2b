package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Pause pauses the projection in all processes, until [Operator.Continue]: also in processes that
// begin later. It stores that and returns. A process finds it within a sixth of
// Config.ClaimTimeout, at most 10 seconds; handlers that are called then return in their time. The
// other projections of the group go on. [Group.Resume] works on a paused projection, too.
//
// Nothing is lost, and no stream needs to keep its records meanwhile: Continue makes the group look
// at all persistence ids. It costs 1 write unit.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoProjection], and those of requests.
func (o *Operator) Pause(ctx context.Context) error {
	return o.change(ctx, "pause", dynamo.Update{
		Expression: "SET " + attrPaused + " = if_not_exists(" + attrPaused + ", :now)",
		Condition:  "attribute_exists(" + attrStarted + ")",
		Values:     dynamo.Attributes{":now": number(time.Now().Unix())},
	}, ErrNoProjection)
}

// Continue continues a projection that [Operator.Pause] has paused. With [Streams] the group looks
// at all persistence ids for it, at StreamsOptions.PerSecond; with [Sweep] that is what the next
// sweep does, on [Lambda] what [Group.Maintain] does. It does nothing if the projection is not
// paused. It costs 1 write unit.
//
// Errors: those of Pause, without ErrNoProjection.
func (o *Operator) Continue(ctx context.Context) error {
	// The sweep is owed in the same write: what was not handled meanwhile is not forgotten.
	owe := "SET " + attrOwed + " = if_not_exists(" + attrOwed + ", :none) + :one "
	values := dynamo.Attributes{":none": number(0), ":one": number(1)}
	return o.change(ctx, "continue", dynamo.Update{
		Expression: owe + "REMOVE " + attrPaused,
		Condition:  "attribute_exists(" + attrPaused + ")",
		Values:     values,
	}, nil)
}

// change changes the item of the projection. failed is the error if the condition does not hold.
func (o *Operator) change(ctx context.Context, what string, update dynamo.Update, failed error) error {
	if o.journal == nil {
		return argument("journal", nil, "it must be an open journal")
	}
	if _, err := checkProjection(o.projection); err != nil {
		return err
	}
	t := openTable(o.journal)
	update.Table, update.Key = t.name, t.standingKey(o.projection)
	err := t.send(ctx, update)
	if errors.Is(err, errAgain) {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("%s projection %s: %w", what, o.projection, err)
	}
	return nil
}

// errPaused reports that a run has ended as its projection is paused.
var errPaused = errors.New("the projection is paused")

// longestWatch is the longest time after which a process looks whether projections are paused,
// parkedWatch that while triggers of a paused projection wait.
const (
	longestWatch = 10 * time.Second
	parkedWatch  = 250 * time.Millisecond
)

// watch looks again and again whether the projections are paused, until ctx ends. It looks sooner
// while triggers of a paused projection wait: they are done when it is still paused, in a look that
// began after they came. Then [Operator.Continue] comes after their events, and the sweep that it
// owes finds them. A look that fails changes nothing.
func (s *schedule) watch(ctx context.Context) {
	every := min(s.group.config.ClaimTimeout/renewals, longestWatch)
	for {
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-s.parking:
			_ = backoff.Wait(ctx, min(parkedWatch, every)) // for those that come at the same time
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.group.config.Logger.LogAttrs(ctx, slog.LevelWarn, "whether projections are paused could not be read",
				slog.String("group", s.group.config.Name), slog.Any("error", err))
			s.signalParked()
		}
	}
}

// parked is a task of a paused projection, and the triggers that it had when a look began.
type parked struct {
	*task

	covered []trigger
}

// look reads whether the projections are paused, and does what follows for tasks that wait for it.
func (s *schedule) look(ctx context.Context) error {
	s.mu.Lock()
	var waiting []parked
	for t := range s.parked {
		waiting = append(waiting, parked{t, t.waiting})
		t.waiting = nil
	}
	s.mu.Unlock()
	all, err := s.group.standings(ctx)
	s.mu.Lock()
	var done []trigger
	defer func() {
		s.mu.Unlock()
		for _, t := range done {
			t.done()
		}
	}()
	if err == nil {
		for i, of := range s.group.members {
			if of.see(all[i]) {
				s.continued()
			}
		}
	}
	for _, p := range waiting {
		if err == nil && p.of.paused.Load() {
			done = append(done, p.covered...)
			if len(p.waiting) == 0 {
				delete(s.parked, p.task)
				delete(s.tasks, p.key())
				continue
			}
		} else {
			p.waiting = append(p.covered, p.waiting...)
		}
		if err == nil && !p.of.paused.Load() {
			delete(s.parked, p.task)
			s.enqueue(p.task)
			continue
		}
		s.signalParked()
	}
	return err
}

// see notes what is stored for a projection. It reports whether it is no longer paused.
func (of *member) see(now standing) (continued bool) {
	of.owed.Store(max(now.owed-now.swept, 0))
	of.sweeps.Store(now.owed)
	return of.paused.Swap(now.paused) && !now.paused
}

// park puts a task of a paused projection aside. The caller holds the lock.
func (s *schedule) park(t *task) {
	t.state = taskParked
	s.parked[t] = true
	s.signalParked()
}

func (s *schedule) signalParked() {
	select {
	case s.parking <- struct{}{}:
	default:
	}
}

// continued wakes a source that waits for its next sweep.
func (s *schedule) continued() {
	select {
	case s.resumed <- struct{}{}:
	default:
	}
}

// settleContinued sweeps for the projections that were continued, one after the other, and stores
// that their sweeps are settled that were owed when it began.
func (r *reader) settleContinued(ctx context.Context) error {
	for _, of := range r.group.members {
		if of.owed.Load() == 0 || of.paused.Load() {
			continue
		}
		owed := of.sweeps.Load()
		sweep := &sweep{SweepOptions{PerSecond: r.PerSecond}}
		if err := sweep.once(ctx, r.group, []*member{of}, r.to, &position{}); err != nil {
			return err
		}
		err := r.group.table.settle(ctx, r.group.table.standingKey(of.name), owed)
		if err != nil {
			return err
		}
		of.owed.Store(0)
	}
	return nil
}
