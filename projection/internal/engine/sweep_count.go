package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// SweepCount is a projection.SweepCount.
type SweepCount struct {
	Projections []string
	After       string
	Last        string
	IDs         int
	Events      int64
	Cost        dynajournal.Cost
	Elapsed     time.Duration
	Over, Done  bool
}

// ReportedEvery is the interval at which the count of a sweep is logged.
const ReportedEvery = time.Minute

// sweepCounter counts the events, requests and units of a sweep. A nil sweepCounter counts nothing.
type sweepCounter struct {
	group *Group
	// names has the names of the projections.
	names []string
	// after is the position at which the sweep started.
	after string

	start  time.Time
	meter  dynamo.Meter
	events atomic.Int64

	mu sync.Mutex
	// reportedAt is when the count was last logged.
	reportedAt time.Time
}

func newSweepCounter(g *Group, members []*Member) *sweepCounter {
	now := time.Now()
	return &sweepCounter{group: g, names: slices.Sorted(slices.Values(names(members))), start: now, reportedAt: now}
}

// counted returns the counter of the sweep that has sent one of the triggers, or nil.
func counted(triggers []Trigger) *sweepCounter {
	for _, t := range triggers {
		if t.count != nil {
			return t.count
		}
	}
	return nil
}

// within returns a context whose requests are counted.
func (c *sweepCounter) within(ctx context.Context) context.Context {
	if c == nil {
		return ctx
	}
	return dynamo.WithMeter(ctx, &c.meter)
}

// Handled records that steps were handled, and that the offset after them was stored.
func (r *Run) Handled(steps []Step) {
	r.applied = r.applied || len(steps) > 0
	r.Count.handled(steps)
}

// handled counts the events of steps.
func (c *sweepCounter) handled(steps []Step) {
	if c == nil {
		return
	}
	for i := range steps {
		if steps[i].Event != nil {
			c.events.Add(1)
		}
	}
}

// reportIfDue logs the count if ReportedEvery has passed since it was last logged.
func (c *sweepCounter) reportIfDue(ctx context.Context, under *swept) {
	c.mu.Lock()
	due := time.Since(c.reportedAt) >= ReportedEvery
	if due {
		c.reportedAt = time.Now()
	}
	c.mu.Unlock()
	if due {
		c.report(ctx, "a sweep of projections continues", "projection.sweep_continues", slog.LevelInfo, c.now(under))
	}
}

// ended logs the count of a sweep that has ended with err.
func (c *sweepCounter) ended(ctx context.Context, under *swept, err error) {
	count := c.now(under)
	count.Over, count.Done = true, err == nil
	level := slog.LevelInfo
	if count.Elapsed < ReportedEvery {
		level = slog.LevelDebug // an idle group sweeps each minute
	}
	text, event := "a sweep of projections is done", "projection.sweep_done"
	if err != nil {
		text, event = "a sweep of projections has stopped before its end", "projection.sweep_stopped"
	}
	c.report(ctx, text, event, level, count)
}

func (c *sweepCounter) now(under *swept) SweepCount {
	last, ids := under.position()
	return SweepCount{
		Projections: c.names, After: c.after, Last: last, IDs: ids, Events: c.events.Load(),
		Cost: dynajournal.Cost(c.meter.Cost()), Elapsed: time.Since(c.start),
	}
}

func (c *sweepCounter) report(ctx context.Context, text, event string, level slog.Level, count SweepCount) {
	c.group.Config.Logger.LogAttrs(ctx, level, text,
		slog.String("event", event), slog.String("group", c.group.Config.Name), slog.Any("projections", count.Projections),
		slog.String("after", count.After), slog.String("last", count.Last),
		slog.Int("ids", count.IDs), slog.Int64("events", count.Events),
		slog.Int("requests", count.Cost.Requests), slog.Float64("read_units", count.Cost.ReadUnits),
		slog.Float64("write_units", count.Cost.WriteUnits), slog.Duration("elapsed", count.Elapsed))
	if onSweep := c.group.Config.Hooks.OnSweep; onSweep != nil {
		count.Projections = slices.Clone(count.Projections)
		onSweep(ctx, count)
	}
}
