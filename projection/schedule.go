package projection

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// task is the work on one persistence id of one projection. Its runs follow each other.
type task struct {
	of  *member
	pid string
	// waiting are called when a run that begins from now on has done the task. received is when the
	// first trigger came that is not done.
	waiting  []trigger
	received time.Time
	// running reports that a run is under way, queued that one is to begin.
	running, queued bool
	// failures are those of the handler, pauses is how often the task was put off in a row.
	failures failures
	pauses   int
	// claim is the claim that is waited for, seen since claimSeen.
	claim     string
	claimSeen time.Time
	// undecided reports that the task was put off because numbers are missing, delayed that it was
	// as something that it needs could not be reached.
	undecided, delayed bool
	// lost is the claim of an earlier run whose end is unknown.
	lost string
}

// trigger is a trigger of a task. A trigger without records makes the run read.
type trigger struct {
	records []record
	done    func()
	// each, if set, is called when one of the projections has done the trigger, before done.
	each func(*member)
	// count is that of the sweep which the trigger is of, nil if it is of none.
	count *sweepCount
}

// taskKey names a task.
type taskKey struct{ name, pid string }

// schedule has the tasks of a group that runs. A task exists while a trigger of it is not done.
type schedule struct {
	group *Group

	mu    sync.Mutex
	tasks map[taskKey]*task
	// queue are the tasks that may run now. ready has a token while there may be some.
	queue []*task
	ready chan struct{}
	// timers are the tasks that are put off.
	timers map[*task]*time.Timer
	ended  bool
	// parked are the tasks of paused projections. parking has a token while there may be some.
	parked  map[*task]bool
	parking chan struct{}
	// resumed has a token when a projection is no longer paused.
	resumed chan struct{}

	// rows are the rows that the runs have written.
	rows *rowCache
	// invocation is that of Lambda which the schedule is of, nil if the group runs.
	invocation *invocation
}

func newSchedule(g *Group) *schedule {
	return &schedule{
		group: g, tasks: map[taskKey]*task{}, ready: make(chan struct{}, 1), timers: map[*task]*time.Timer{},
		parked: map[*task]bool{}, parking: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		rows: newRowCache(),
	}
}

// trigger makes all projections handle new events of a persistence id: the events of the trigger's
// records or, without records, the events that a run reads from the journal. The trigger's done is
// called after all projections are done, and never if the group ends first.
func (s *schedule) trigger(pid string, by trigger) { s.triggerFor(s.group.members, pid, by) }

// triggerFor is trigger for some of the projections.
func (s *schedule) triggerFor(among []*member, pid string, by trigger) {
	done := by.done
	var members []*member
	for _, of := range among {
		if of.only.takes(pid) {
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
	one := func(of *member) {
		if by.each != nil {
			by.each(of)
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
		key := taskKey{of.name, pid}
		t := s.tasks[key]
		if t == nil {
			t = &task{of: of, pid: pid, received: time.Now()}
			if s.invocation != nil {
				t.claim, t.claimSeen = s.group.lambda.seen(key)
			}
			s.tasks[key] = t
		}
		t.waiting = append(t.waiting, trigger{records: by.records, done: func() { one(of) }, count: by.count})
		if timer := s.timers[t]; t.undecided && timer != nil && timer.Stop() {
			delete(s.timers, t) // the trigger may be of what is missing
		}
		if !t.running && s.timers[t] == nil && !s.parked[t] {
			s.enqueue(t)
		}
	}
}

// enqueue makes a task run. The caller holds the lock.
func (s *schedule) enqueue(t *task) {
	if t.queued {
		return
	}
	t.queued = true
	s.queue = append(s.queue, t)
	s.signal()
}

func (s *schedule) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// next returns the next task to run, nil when ctx ends.
func (s *schedule) next(ctx context.Context) *task {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			t := s.queue[0]
			s.queue = s.queue[1:]
			t.queued = false
			if t.of.paused.Load() {
				s.park(t)
				s.mu.Unlock()
				continue
			}
			t.running = true
			if len(s.queue) > 0 {
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

// work runs tasks until ctx ends, or with the first error after which the group can't go on. begin
// makes another worker begin.
func (s *schedule) work(ctx context.Context, begin func()) error {
	w := &worker{begin: begin}
	defer s.group.overdue.end(w)
	for {
		t := s.next(ctx)
		if t == nil {
			return nil
		}
		s.mu.Lock()
		covered := t.waiting
		t.waiting = nil
		r := s.group.newRun(t.of, t.pid)
		r.records, r.worker, r.count = inOrder(covered), w, counted(covered)
		r.within(s.invocation)
		if t.of.offsets.inRows() {
			r.rows = s.rows
		}
		r.takeOver, r.earlier = s.dead(t), t.failures
		s.mu.Unlock()
		err := r.execute(r.count.within(ctx))
		if ctx.Err() != nil {
			return nil // that is how a group ends
		}
		if ends(err) {
			return err
		}
		s.settle(ctx, t, r, covered, err)
		if s.group.overdue.lost(w) { // another worker has its place
			return nil
		}
	}
}

// dead returns the claim that the next run of a task may take over. The caller holds the lock.
func (s *schedule) dead(t *task) string {
	if t.lost != "" {
		return t.lost
	}
	stands := t.claim != "" && time.Since(t.claimSeen) >= s.group.config.ClaimTimeout
	if stands {
		return t.claim
	}
	return ""
}

// settle does what follows from the end of a run. covered were the triggers before it began.
func (s *schedule) settle(ctx context.Context, t *task, r *run, covered []trigger, err error) {
	s.log(ctx, t, err)
	s.mu.Lock()
	if t.lost = ""; r.claimed {
		t.lost = r.token
	}
	t.running = false
	undecided, missing := errors.AsType[*undecidedError](err)
	t.undecided = missing
	claimed, other := errors.AsType[*claimedError](err)
	stuck := new(stuckNowError)
	done := err == nil || errors.As(err, &stuck)
	t.delayed = false
	if done && err != nil {
		t.of.becameStuck.Add(1)
	}
	switch {
	case done:
		t.failures, t.pauses, t.claim = failures{}, 0, ""
		s.goOn(t)
	case errors.Is(err, errPaused):
		t.waiting = append(covered, t.waiting...)
		s.enqueue(t)
	case other:
		if t.claim != claimed.claim {
			t.claim, t.claimSeen, t.pauses = claimed.claim, time.Now(), 0
		}
		if s.invocation != nil {
			s.group.lambda.see(taskKey{t.of.name, t.pid}, t.claim, t.claimSeen)
		}
		s.putOff(t, covered, s.untilDead(t))
	case missing:
		s.putOff(t, covered, max(min(s.pause(t), undecided.left), time.Millisecond))
	default:
		failure := new(HandlerError)
		if t.delayed = !errors.As(err, &failure); !t.delayed {
			if t.failures = r.failed; t.failures.count == 1 {
				t.pauses = 0
			}
		}
		s.putOff(t, covered, s.pause(t))
	}
	s.mu.Unlock()
	if !done {
		return
	}
	for _, t := range covered {
		t.done()
	}
}

// goOn makes a task run again if triggers have come since its run began, and else ends it. The
// caller holds the lock.
func (s *schedule) goOn(t *task) {
	if len(t.waiting) == 0 {
		delete(s.tasks, taskKey{t.of.name, t.pid})
		return
	}
	t.received = time.Now()
	s.enqueue(t)
}

// putOff makes a task run after a pause, for what it was to do before. The caller holds the lock.
func (s *schedule) putOff(t *task, covered []trigger, pause time.Duration) {
	t.pauses++
	t.waiting = append(covered, t.waiting...)
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
func (s *schedule) pause(t *task) time.Duration {
	longest := s.group.config.retries().After(t.pauses)
	return longest - rand.N(longest/2+1) //nolint:gosec // jitter needs no secrecy
}

// untilDead returns the pause before the row is read again that another run has claimed. The caller
// holds the lock.
func (s *schedule) untilDead(t *task) time.Duration {
	left := s.group.config.ClaimTimeout - time.Since(t.claimSeen)
	return max(min(s.pause(t), left), time.Millisecond)
}

// end stops the timers. What is not done then is not done by this run of the group.
func (s *schedule) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for t, timer := range s.timers {
		timer.Stop()
		delete(s.timers, t)
	}
}

// log logs the error of a run.
func (s *schedule) log(ctx context.Context, t *task, err error) {
	if claimed := new(claimedError); err == nil || errors.As(err, &claimed) || errors.Is(err, errPaused) {
		return
	}
	if undecided := new(undecidedError); errors.As(err, &undecided) {
		return
	}
	if failure := new(HandlerError); !errors.As(err, &failure) && !t.of.outageDue() {
		return
	}
	level, text := slog.LevelWarn, "a projection tries again"
	if stuck := new(stuckNowError); errors.As(err, &stuck) {
		level, text = slog.LevelError, "a persistence id of a projection is stuck"
	}
	s.group.config.Logger.LogAttrs(ctx, level, text, slog.String("projection", t.of.name),
		slog.String("persistence_id", t.pid), slog.Any("error", err))
}
