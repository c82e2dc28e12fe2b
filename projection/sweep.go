package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal"
)

// Source finds the persistence ids that have new events. See [Sweep].
type Source interface {
	// check checks the options, and fills in the defaults.
	check() error
	// perSecond is how many persistence ids are looked at in a second at most, negative for no
	// limit.
	perSecond() float64
	// kind names the source in the registry.
	kind() string
	// feed triggers persistence ids until ctx ends. After every commit it triggers its persistence
	// id, and again until that is done.
	feed(ctx context.Context, g *Group, s *schedule) error
}

// SweepOptions are the options of a sweep. The zero value has the defaults.
type SweepOptions struct {
	// Every is the pause between the end of a sweep and the beginning of the next.
	//
	// Defaults to 1 minute.
	Every time.Duration

	// PerSecond is how many persistence ids are looked at in a second at most: it bounds what a
	// sweep costs at a time. An id without new events costs 4 read units for each projection.
	//
	// Negative is no limit. Defaults to 100.
	PerSecond float64
}

// The defaults of a sweep.
const (
	defaultEvery     = time.Minute
	defaultPerSecond = 100
)

// maxSwept is how many persistence ids of a sweep are not done at most.
const maxSwept = 256

// savedEvery is after how many persistence ids that are done the position of a sweep is stored.
const savedEvery = 200

// Sweep returns a source that lists all persistence ids again and again, and compares the journal
// of each with the offsets. It needs nothing but the tables. New events are found by the next
// sweep, so combine it with [Group.Trigger] in the processes that write. A purged persistence id is
// not listed: the next sweep after it is used again finds the purge.
//
// A sweep that was interrupted goes on where it was, unless the projections of the group have
// changed. Each process of a group sweeps on its own.
func Sweep(opts SweepOptions) Source { return &sweep{SweepOptions: opts} }

type sweep struct{ SweepOptions }

func (s *sweep) check() error {
	if s.Every == 0 {
		s.Every = defaultEvery
	}
	if s.PerSecond == 0 {
		s.PerSecond = defaultPerSecond
	}
	switch {
	case s.Every < 0:
		return argument("SweepOptions.Every", s.Every, "it must not be negative")
	case math.IsNaN(s.PerSecond):
		return argument("SweepOptions.PerSecond", s.PerSecond, "it is not a number")
	}
	return nil
}

func (s *sweep) feed(ctx context.Context, g *Group, to *schedule) error {
	for {
		err := s.once(ctx, g, g.members, to, &position{
			group: g, names: subjects(g.members), key: sweepKey(g.table.journalName, g.config.Name),
		})
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that is how a group ends
		case err != nil && !passes(err) && !errors.Is(err, context.DeadlineExceeded):
			return err
		case err != nil:
			g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a sweep of projections was interrupted",
				slog.String("group", g.config.Name), slog.Any("error", err))
		}
		select {
		case <-time.After(s.Every):
		case <-to.resumed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *sweep) perSecond() float64 { return s.PerSecond }

func (s *sweep) kind() string { return sourceSweep }

// pace returns the limit of a number in a second.
func pace(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
}

// waitFor waits for a limit. Where the deadline of ctx would come before, it does not wait.
func waitFor(ctx context.Context, limit *rate.Limiter) error {
	err := limit.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		return context.DeadlineExceeded
	}
	return err
}

// once sweeps for some projections all persistence ids behind the stored position, and waits until
// all are done. With a position of no group nothing is stored, and all ids are swept.
func (s *sweep) once(
	ctx context.Context, g *Group, members []*member, to *schedule, position *position,
) (err error) {
	count := newSweepCount(g, members)
	ctx = count.within(ctx)
	if err := position.load(ctx); err != nil {
		return err
	}
	limit := pace(s.PerSecond)
	slots := make(chan struct{}, maxSwept)
	var under swept
	count.after = position.after
	defer func() { count.ended(ctx, &under, err) }()
	defer func() { err = errors.Join(err, position.interrupt(ctx, &under, err)) }()
	for pid, err := range g.journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{After: position.after, Sorted: true}) {
		if err != nil {
			return err
		}
		if !takes(members, pid) {
			continue
		}
		if err := waitFor(ctx, limit); err != nil {
			return fmt.Errorf("sweep %q: %w", g.config.Name, err)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		done := under.begin(pid)
		to.triggerFor(members, pid, trigger{count: count, done: func() {
			done()
			<-slots
		}})
		if err := position.follow(ctx, &under); err != nil {
			return err
		}
		count.goesOn(ctx, &under)
	}
	for range maxSwept { // the slots that are taken are given back when their ids are done
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := position.follow(ctx, &under); err != nil {
			return err
		}
		count.goesOn(ctx, &under)
	}
	if position.after == "" {
		return nil
	}
	return position.save(ctx, "")
}

// subjects returns the names of projections, with which persistence ids they take.
func subjects(members []*member) string {
	all := names(members)
	for i, of := range members {
		if of.only.filtered {
			all[i] += "/" + of.only.ids()
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// takes reports whether one of the projections takes a persistence id.
func takes(members []*member, pid string) bool {
	return slices.ContainsFunc(members, func(of *member) bool { return of.only.takes(pid) })
}
