package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Schedule has the tasks of a running group. A task exists while one of its triggers is not done.
type Schedule struct {
	group *Group

	mu    sync.Mutex
	tasks map[taskKey]*task
	// turns has the tasks that may run now.
	turns turns
	// ready has a token while turns may have tasks.
	ready chan struct{}
	// timers has the tasks that are put off.
	timers map[*task]*time.Timer
	ended  bool
	// parked has the tasks of paused projections.
	parked map[*task]bool
	// parking has a token while parked may have tasks.
	parking chan struct{}
	// resumed has a token after a projection was continued.
	resumed chan struct{}

	// abandoned has the tasks that were removed while their runs are under way.
	abandoned map[*task]bool
	// leaving counts the calls of leave.
	leaving sync.WaitGroup

	// rows caches the rows that the runs have written.
	rows *rowCache
	// invocation is the Lambda invocation of the schedule. It is nil in Group.Run.
	invocation *invocation
}

func newSchedule(g *Group) *Schedule {
	return &Schedule{
		turns: newTurns(g.Members, g.Config.Concurrency),
		group: g, tasks: map[taskKey]*task{}, ready: make(chan struct{}, 1), timers: map[*task]*time.Timer{},
		parked: map[*task]bool{}, parking: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		rows: newRowCache(), abandoned: map[*task]bool{},
	}
}

// Trigger makes all projections handle new events of a persistence id: the events of the trigger's
// records or, without records, the events that a run reads from the journal. The trigger's Done is
// called after all projections are done, and never if the group ends first.
func (s *Schedule) Trigger(pid string, by Trigger) { s.TriggerFor(s.group.Members, pid, by) }

// TriggerFor is Trigger for some of the projections.
func (s *Schedule) TriggerFor(among []*Member, pid string, by Trigger) {
	done := by.Done
	var members []*Member
	for _, of := range among {
		if of.Only.Takes(pid) {
			members = append(members, of)
		}
	}
	if len(members) == 0 {
		if done != nil {
			done()
		}
		return
	}
	pending := len(members)
	one := func(of *Member) {
		if by.Each != nil {
			by.Each(of)
		}
		s.mu.Lock()
		pending--
		last := pending == 0
		s.mu.Unlock()
		if last && done != nil {
			done()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	for _, of := range members {
		t := s.taskOf(of, pid)
		t.waiting = append(t.waiting, Trigger{Records: by.Records, Done: func() { one(of) }, count: by.count})
		s.wake(t)
	}
}

// Ask triggers a persistence id for a program that does not wait for the result. A task remembers
// such a trigger only once. If there are too many tasks already, Ask does nothing: the source finds
// the persistence id.
func (s *Schedule) Ask(pid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	for _, of := range s.group.Members {
		key := taskKey{name: of.Name, pid: pid}
		full := len(s.tasks) >= s.group.Config.MaxWaiting*len(s.group.Members)
		if !of.Only.Takes(pid) || s.tasks[key] == nil && full {
			continue
		}
		t := s.taskOf(of, pid)
		if !t.asked {
			t.asked = true
			t.waiting = append(t.waiting, Trigger{Done: func() {}})
		}
		s.wake(t)
	}
}

// wake queues a task that is new, or that waits for a missing number, which the new trigger may
// report. The caller holds the lock.
func (s *Schedule) wake(t *task) {
	switch {
	case t.state == taskNew:
		s.enqueue(t)
	case t.state == taskPutOff && t.last == endUndecided && s.timers[t].Stop():
		delete(s.timers, t)
		s.enqueue(t)
	}
}

// taskOf returns the task of a projection for a persistence id. It creates a missing task. The
// caller holds the lock.
func (s *Schedule) taskOf(of *Member, pid string) *task {
	key := taskKey{name: of.Name, pid: pid}
	if t := s.tasks[key]; t != nil {
		return t
	}
	t := &task{of: of, pid: pid, received: time.Now()}
	if s.invocation != nil {
		t.claim, t.claimSeen = s.group.lambda.seen(key)
	}
	s.tasks[key] = t
	return t
}

// enqueue queues a task for the workers. The caller holds the lock.
func (s *Schedule) enqueue(t *task) {
	t.state = taskQueued
	s.turns.add(t)
	s.signal()
}

// freed records that a projection uses one worker less, and wakes a worker if a task can run. The
// caller holds the lock.
func (s *Schedule) freed(of *Member) {
	s.turns.end(of)
	if s.turns.ready() {
		s.signal()
	}
}

func (s *Schedule) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// next returns the next task to run, nil when ctx ends.
func (s *Schedule) next(ctx context.Context) *task {
	for {
		s.mu.Lock()
		if t := s.turns.take(); t != nil {
			if t.of.Paused.Load() && !t.pays {
				s.turns.end(t.of)
				s.park(t)
				s.mu.Unlock()
				continue
			}
			t.state = taskRunning
			if s.turns.ready() {
				s.signal() // for the next worker
			}
			s.mu.Unlock()
			return t
		}
		s.mu.Unlock()
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil
		}
	}
}

// work runs tasks until ctx ends, or until the first error after which the group can't continue.
// start starts another worker.
func (s *Schedule) work(ctx context.Context, start func()) error {
	w := &worker{start: start}
	defer s.group.overdue.end(w)
	for {
		t := s.next(ctx)
		if t == nil {
			return nil
		}
		r := s.runOf(t)
		r.worker = w
		r.overdue = func(replaced bool) { s.leaving.Go(func() { s.abandon(ctx, t, r, replaced) }) }
		o := r.execute(r.Count.within(ctx))
		if ctx.Err() != nil {
			return nil // the group is stopping
		}
		if o.ending == endFatal {
			return o.err
		}
		s.log(ctx, t, o)
		if o.ending == endClaimed {
			r.claimChanged(ctx, ClaimWaits)
		}
		s.notePause(t, r, &o)
		s.finish(t, r, s.putIntoDebt(ctx, t, r, o))
		if s.group.overdue.lost(w) { // another worker has replaced this one
			return nil
		}
	}
}

// runOf returns the next run of a task. It covers the triggers that have come so far.
func (s *Schedule) runOf(t *task) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.covered, t.waiting, t.asked = t.waiting, nil, false
	r := s.group.newRun(t.of, t.pid)
	r.Count = counted(t.covered)
	r.within(s.invocation)
	if r.pays = t.pays; r.pays {
		r.probes = t.probes
		return r
	}
	r.stops = s.group.indexed.Load()
	r.records = inOrder(t.covered)
	if t.of.Offsets.InRows() {
		r.rows = s.rows
		r.onlyIfEvents = r.records == nil // a sweep triggers all persistence ids
	}
	if s.hangs(t.of, t.pid) {
		r.debtReason, r.onlyIfEvents = errOverdue, false
	}
	r.takeOver, r.earlier = t.dead(s.group.Config.ClaimTimeout), t.failures
	return r
}

// notePause sets the pause in an outcome whose run has to be made again, and records in the task
// the claim or failure that it waits for.
func (s *Schedule) notePause(t *task, r *Run, o *outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o.ending {
	case endClaimed:
		t.claimed(o.claim)
		if s.invocation != nil {
			s.group.lambda.see(t.key(), t.claim, t.claimSeen)
		}
		o.pause = s.untilDead(t)
	case endUndecided:
		o.pause = max(min(s.pause(t), o.left), time.Millisecond)
	case endFailed:
		if t.failures = r.failed; t.failures.count == 1 {
			t.pauses = 0
		}
		o.pause = s.pause(t)
	case endUnreachable:
		if !errors.Is(o.err, ErrAgain) && r.debtReason == nil {
			t.of.unreachable.failed(t.pid, o.err)
		}
		o.pause = s.pause(t)
	default:
	}
}

// putIntoDebt stores a debt for a task that would wait for too long, so that its triggers are done.
// It returns the outcome after that.
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
	if err := r.storeDebt(ctx, o.err, o.pause); err != nil {
		return o // it is tried again after the next run
	}
	s.group.holes.forget(taskKey{name: t.of.Name, pid: t.pid}) // the row has their ages
	return outcome{ending: endDebt}
}

// patience returns the maximum time that a trigger waits before a debt is stored for it.
func (s *Schedule) patience() time.Duration {
	if s.invocation != nil {
		return s.invocation.patience
	}
	return s.group.Config.patience()
}

// finish removes the task after its run, queues it again, or puts it off.
func (s *Schedule) finish(t *task, r *Run, o outcome) {
	if o.ending == endStuck {
		t.of.becameStuck.Add(1)
	}
	if r.applied {
		s.group.worked.Store(true)
	}
	if r.reached {
		t.of.unreachable.over()
	}
	s.mu.Lock()
	covered := t.covered
	t.covered = nil
	if !t.overdue {
		s.freed(t.of)
	}
	t.overdue = false
	if s.abandoned[t] {
		delete(s.abandoned, t)
		s.mu.Unlock()
		return
	}
	if t.pays { // the row has when the next payment is due
		t.progressed = r.applied || o.ending == endDone
		delete(s.tasks, t.key())
		s.mu.Unlock()
		allDone(covered)
		return
	}
	if o.waits() && t.waits.IsZero() {
		t.waits = time.Now()
	} else if !o.waits() {
		t.waits = time.Time{}
	}
	if t.lost = ""; r.claimed {
		t.lost = r.Token
	}
	t.last = o.ending
	switch o.ending {
	case endDone, endStuck, endDebt:
		t.failures, t.pauses, t.claim = failures{}, 0, ""
		s.runAgain(t)
	case endPaused:
		t.waitFor(covered)
		s.enqueue(t)
	default:
		s.putOff(t, covered, o.pause)
	}
	s.mu.Unlock()
	if o.done() {
		allDone(covered)
	}
}

// allDone calls Done of triggers.
func allDone(triggers []Trigger) {
	for _, by := range triggers {
		by.Done()
	}
}

// runAgain queues a task if triggers have come since its run started, and otherwise removes it. The
// caller holds the lock.
func (s *Schedule) runAgain(t *task) {
	if len(t.waiting) == 0 {
		delete(s.tasks, t.key())
		return
	}
	t.received = time.Now()
	s.enqueue(t)
}

// putOff makes a task run again after a pause, with the triggers of its last run. The caller holds
// the lock.
func (s *Schedule) putOff(t *task, covered []Trigger, pause time.Duration) {
	t.pauses++
	t.state = taskPutOff
	t.waitFor(covered)
	if s.ended {
		return
	}
	s.timers[t] = time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.timers, t)
		if !s.ended {
			s.enqueue(t)
		}
	})
}

// pause returns the pause after a failure. The caller holds the lock.
func (s *Schedule) pause(t *task) time.Duration {
	longest := s.group.Config.retries().After(t.pauses)
	return longest - rand.N(longest/2+1) //nolint:gosec // jitter needs no secrecy
}

// untilDead returns the pause before the next read of a row that another run has claimed. The
// caller holds the lock.
func (s *Schedule) untilDead(t *task) time.Duration {
	left := s.group.Config.ClaimTimeout - time.Since(t.claimSeen)
	return max(min(s.pause(t), left), time.Millisecond)
}

// end stops the timers, and waits for the calls of leave. Triggers that are not done then are never
// done by this schedule.
func (s *Schedule) end() {
	defer s.leaving.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for t, timer := range s.timers {
		timer.Stop()
		delete(s.timers, t)
	}
}

// log logs an outcome that an operator should know about.
func (s *Schedule) log(ctx context.Context, t *task, o outcome) {
	level, text, event := slog.LevelWarn, "a projection tries again", "projection.retry"
	switch o.ending {
	case endStuck:
		level, text, event = slog.LevelError, "a persistence id of a projection is stuck", "projection.stuck"
	case endFailed:
	case endUnreachable:
		if !t.of.outageDue() {
			return
		}
	default:
		return
	}
	s.group.Config.Logger.LogAttrs(ctx, level, text, slog.String("event", event),
		slog.String("projection", t.of.Name), slog.String("persistence_id", t.pid), slog.Any("error", s.group.Config.PublicError(o.err)))
}
