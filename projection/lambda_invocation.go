package projection

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The part of the time of an invocation that is left for its end, and at most so much.
const (
	endShare = 5
	longEnd  = 2 * time.Second
)

// invocation is an invocation of Lambda.
type invocation struct {
	group *Group
	// ctx ends before the deadline, and cancel ends it.
	ctx    context.Context //nolint:containedctx // it is that of the call that made it
	cancel context.CancelFunc
	// deadline is when Lambda kills the process, zero if that is not known.
	deadline time.Time
	// late reports whether its records are so old that they may have been tried often.
	late bool
	// grace is how long handlers have to return when ctx has ended.
	grace time.Duration
}

// invoke begins an invocation.
func (g *Group) invoke(ctx context.Context) *invocation {
	in := &invocation{group: g, grace: longEnd / 2}
	deadline, ok := ctx.Deadline()
	if !ok {
		in.ctx, in.cancel = context.WithCancel(ctx)
		return in
	}
	end := max(min(time.Until(deadline)/endShare, longEnd), 2)
	in.deadline, in.grace = deadline, end/2
	in.ctx, in.cancel = context.WithDeadline(ctx, deadline.Add(-end))
	return in
}

// within makes a run one of an invocation. Its claim counts until the process is killed.
func (r *run) within(in *invocation) {
	if in == nil {
		return
	}
	r.invocation = in
	if !in.deadline.IsZero() {
		r.token = claimUntil(r.token, in.deadline)
	}
}

// run runs what feed triggers. feed calls add for each trigger, and its result when that is done.
// run returns when all are done, or the invocation is about to end: what is not done then was not
// reported as done. The error is one after which the group can't go on.
func (in *invocation) run(feed func(s *schedule, add func() (done func()))) error {
	g := in.group
	s := newSchedule(g)
	s.invocation, s.rows = in, g.lambda.kept()
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
	work, ctx := errgroup.WithContext(in.ctx)
	var begin func()
	begin = func() { work.Go(func() error { return s.work(ctx, begin) }) }
	for range g.config.Concurrency {
		begin()
	}
	work.Go(func() error { s.watch(ctx); return nil })
	work.Go(func() error { g.stay(ctx); return nil })
	over := make(chan error, 1)
	go func() { over <- work.Wait() }()
	select {
	case <-all:
	case <-ctx.Done():
	}
	in.cancel()
	timer := time.NewTimer(in.grace)
	defer timer.Stop()
	select {
	case err := <-over:
		return err
	case <-timer.C:
		return nil // a handler has not returned: its claim ends with the process, or later
	}
}
