package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// An invocation reserves 1/endShare of its time for its end, but at most longEnd.
const (
	endShare = 5
	longEnd  = 2 * time.Second
)

// invocation is a Lambda invocation.
type invocation struct {
	group *Group
	// Ctx ends before the deadline, and Cancel ends it.
	Ctx    context.Context //nolint:containedctx // derived from the context of the call
	Cancel context.CancelFunc
	// deadline is when Lambda kills the process, zero if that is not known.
	deadline time.Time
	// Late reports whether its records are so old that they may have been tried often.
	Late bool
	// patience is Settings.patience, or less if the invocation has little time.
	patience time.Duration
	// grace is how long handlers may take to return after Ctx has ended.
	grace time.Duration
}

// Invoke starts an invocation. Its context ends some time before the deadline of ctx.
func (g *Group) Invoke(ctx context.Context) *invocation {
	ctx = g.serving(ctx)
	in := &invocation{group: g, grace: longEnd / 2, patience: g.Config.patience()}
	deadline, ok := ctx.Deadline()
	if !ok {
		in.Ctx, in.Cancel = context.WithCancel(ctx)
		return in
	}
	end := max(min(time.Until(deadline)/endShare, longEnd), 2)
	in.deadline, in.grace = deadline, end/2
	const part = 3 // waiting triggers, and requests that store debts, get a third of the time each
	in.patience = min(in.patience, (time.Until(deadline)-end)/part)
	in.Ctx, in.Cancel = context.WithDeadline(ctx, deadline.Add(-end))
	return in
}

// within makes a run a part of an invocation, unless in is nil. The claim of the run counts until
// Lambda kills the process.
func (r *Run) within(in *invocation) {
	if in == nil {
		return
	}
	r.invocation = in
	if !in.deadline.IsZero() {
		r.Token = claimUntil(r.Token, in.deadline)
	}
}

// Run runs the triggers of feed. feed calls add for each trigger, and calls the function that add
// returned after the trigger is done. Run returns when all triggers are done, or when the
// invocation is about to end: unfinished triggers are not reported as done. It returns only an
// error after which the group can't continue.
func (in *invocation) Run(feed func(s *Schedule, add func() (done func()))) error {
	g := in.group
	s := newSchedule(g)
	s.invocation, s.rows = in, g.lambda.cachedRows()
	defer s.end()
	all := make(chan struct{})
	var mu sync.Mutex
	left := 1 // feed itself
	done := func() {
		mu.Lock()
		defer mu.Unlock()
		if left--; left == 0 {
			close(all)
		}
	}
	feed(s, func() func() {
		mu.Lock()
		defer mu.Unlock()
		left++
		return done
	})
	done()
	work, ctx := errgroup.WithContext(in.Ctx)
	var start func()
	start = func() { work.Go(func() error { return s.work(ctx, start) }) }
	for range g.Config.Concurrency {
		start()
	}
	work.Go(func() error { s.watch(ctx); return nil })
	work.Go(func() error { g.stay(ctx); return nil })
	over := make(chan error, 1)
	go func() { over <- work.Wait() }()
	select {
	case <-all:
	case <-ctx.Done():
	}
	in.Cancel()
	timer := time.NewTimer(in.grace)
	defer timer.Stop()
	select {
	case err := <-over:
		return err
	case <-timer.C:
		return nil // a handler has not returned: its claim ends with the process, or later
	}
}
