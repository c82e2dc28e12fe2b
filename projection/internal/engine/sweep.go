package engine

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

// Source finds the persistence ids that have new events.
type Source interface {
	// Check checks the options, and fills in the defaults.
	Check() error
	// PerSecond returns the maximum number of persistence ids that are swept in a second. It is
	// negative for no limit.
	PerSecond() float64
	// Kind names the source in the registry.
	Kind() string
	// Feed triggers persistence ids until ctx ends. After every commit it triggers the persistence
	// id, and repeats that until the trigger is done.
	Feed(ctx context.Context, g *Group, s *Schedule) error
}

// The defaults of a sweep.
const (
	defaultEvery     = time.Minute
	DefaultPerSecond = 100
)

// maxSwept is the maximum number of persistence ids of a sweep that are triggered and not done.
const maxSwept = 256

// SavedEvery is how many persistence ids a sweep finishes between two writes of its position.
const SavedEvery = 200

// Sweep is the source that lists all persistence ids again and again.
type Sweep struct {
	// Every and Pace are Every and PerSecond of projection.SweepOptions.
	Every time.Duration
	Pace  float64
}

// Check checks the options, and fills in the defaults.
func (s *Sweep) Check() error {
	if s.Every == 0 {
		s.Every = defaultEvery
	}
	if s.Pace == 0 {
		s.Pace = DefaultPerSecond
	}
	switch {
	case s.Every < 0:
		return Argument("SweepOptions.Every", s.Every, "it must not be negative")
	case math.IsNaN(s.Pace):
		return Argument("SweepOptions.PerSecond", s.Pace, "it is not a number")
	}
	return nil
}

// Feed sweeps again and again until ctx ends.
func (s *Sweep) Feed(ctx context.Context, g *Group, to *Schedule) error {
	for {
		err := s.Once(ctx, g, g.Members, to, &Position{
			group: g, names: Subjects(g.Members), key: SweepKey(g.Table.JournalName, g.Config.Name),
		})
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the group is stopping
		case err != nil && !g.outage(err):
			return err
		case err != nil:
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a sweep of projections was interrupted",
				slog.String("event", "projection.sweep_interrupted"), slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		select {
		case <-time.After(s.Every):
		case <-to.resumed:
		case <-ctx.Done():
			return nil
		}
	}
}

// PerSecond returns the limit of the sweep.
func (s *Sweep) PerSecond() float64 { return s.Pace }

// Kind names the source in the registry.
func (s *Sweep) Kind() string { return SourceSweep }

// LimitOf returns a limiter for perSecond. It has no limit if perSecond is not positive.
func LimitOf(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
}

// WaitFor waits for a limiter. If the deadline of ctx would come first, it returns at once.
func WaitFor(ctx context.Context, limit *rate.Limiter) error {
	err := limit.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		return context.DeadlineExceeded
	}
	return err
}

// Once sweeps all persistence ids after the stored position for some projections, and waits until
// all are done. A position without a group is not stored, and all ids are swept.
func (s *Sweep) Once(
	ctx context.Context, g *Group, members []*Member, to *Schedule, position *Position,
) (err error) {
	count := newSweepCounter(g, members)
	ctx = count.within(ctx)
	if err := position.load(ctx); err != nil {
		return err
	}
	limit := LimitOf(s.Pace)
	slots := make(chan struct{}, maxSwept)
	var under swept
	count.after = position.after
	defer func() { count.ended(ctx, &under, err) }()
	defer func() { err = errors.Join(err, position.interrupt(ctx, &under, err)) }()
	for pid, err := range g.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{After: position.after, Sorted: true}) {
		if err != nil {
			return err
		}
		if !Takes(members, pid) {
			continue
		}
		if err := WaitFor(ctx, limit); err != nil {
			return fmt.Errorf("sweep %q: %w", g.Config.Name, err)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		done := under.start(pid)
		to.TriggerFor(members, pid, Trigger{count: count, Done: func() {
			done()
			<-slots
		}})
		if err := position.follow(ctx, &under); err != nil {
			return err
		}
		count.reportIfDue(ctx, &under)
	}
	for range maxSwept { // an id that is done releases its slot
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := position.follow(ctx, &under); err != nil {
			return err
		}
		count.reportIfDue(ctx, &under)
	}
	if position.after == "" {
		return nil
	}
	return position.save(ctx, "")
}

// Subjects returns the names of projections, with the prefixes of the persistence ids that they
// take, as one text.
func Subjects(members []*Member) string {
	all := names(members)
	for i, of := range members {
		if of.Only.Filtered {
			all[i] += "/" + of.Only.ids()
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// Takes reports whether one of the projections takes a persistence id.
func Takes(members []*Member, pid string) bool {
	return slices.ContainsFunc(members, func(of *Member) bool { return of.Only.Takes(pid) })
}
