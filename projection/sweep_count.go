package projection

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

// SweepCount is what a sweep has done and used, in this process and since it began or went on. See
// [Config.OnSweep] and [Group.EstimateSweep].
type SweepCount struct {
	// Projections are the names of those that the sweep is for, such as billing/balances.
	Projections []string
	// After is the persistence id behind which the sweep has begun, as all up to it were swept
	// before. It is empty for the beginning.
	After string
	// Last is the last persistence id that is done with all before it, and IDs how many were done.
	Last string
	IDs  int
	// Events is how many events were handled, each once for each projection. An event whose
	// handling was not stored, as the group has ended, is not among them.
	Events int64
	// Cost is what the sweep has used: the listing, the rows, the events and the positions that it
	// stores, and what handlers send to the journal with the context that they get.
	Cost dynajournal.Cost
	// Elapsed is the time since the sweep began.
	Elapsed time.Duration
	// Over reports whether the sweep has ended, Done whether it has swept all persistence ids.
	Over, Done bool
}

// reportedEvery is how often the count of a sweep is told.
const reportedEvery = time.Minute

// sweepCount counts what a sweep uses. A nil one counts nothing.
type sweepCount struct {
	group *Group
	// names are those of the projections, after is where the sweep has begun.
	names []string
	after string

	began  time.Time
	meter  dynamo.Meter
	events atomic.Int64

	mu sync.Mutex
	// told is when the count was told last.
	told time.Time
}

func newSweepCount(g *Group, members []*member) *sweepCount {
	now := time.Now()
	return &sweepCount{group: g, names: slices.Sorted(slices.Values(names(members))), began: now, told: now}
}

// counted returns the count of the sweep that one of the triggers is of, nil if none is.
func counted(triggers []trigger) *sweepCount {
	for _, t := range triggers {
		if t.count != nil {
			return t.count
		}
	}
	return nil
}

// within returns a context whose requests are counted.
func (c *sweepCount) within(ctx context.Context) context.Context {
	if c == nil {
		return ctx
	}
	return dynamo.WithMeter(ctx, &c.meter)
}

// handled counts the events of steps whose handling is stored.
func (c *sweepCount) handled(steps []step) {
	if c == nil {
		return
	}
	for i := range steps {
		if steps[i].event != nil {
			c.events.Add(1)
		}
	}
}

// goesOn tells the count if a minute is over since that was done.
func (c *sweepCount) goesOn(ctx context.Context, under *swept) {
	c.mu.Lock()
	due := time.Since(c.told) >= reportedEvery
	if due {
		c.told = time.Now()
	}
	c.mu.Unlock()
	if due {
		c.tell(ctx, "a sweep of projections goes on", slog.LevelInfo, c.now(under))
	}
}

// ended tells the count of a sweep that has ended with err.
func (c *sweepCount) ended(ctx context.Context, under *swept, err error) {
	count := c.now(under)
	count.Over, count.Done = true, err == nil
	level := slog.LevelInfo
	if count.Elapsed < reportedEvery {
		level = slog.LevelDebug // an idle group sweeps each minute
	}
	text := "a sweep of projections is done"
	if err != nil {
		text = "a sweep of projections has ended before its end"
	}
	c.tell(ctx, text, level, count)
}

func (c *sweepCount) now(under *swept) SweepCount {
	last, ids := under.position()
	return SweepCount{
		Projections: c.names, After: c.after, Last: last, IDs: ids, Events: c.events.Load(),
		Cost: dynajournal.Cost(c.meter.Cost()), Elapsed: time.Since(c.began),
	}
}

func (c *sweepCount) tell(ctx context.Context, text string, level slog.Level, count SweepCount) {
	c.group.config.Logger.LogAttrs(ctx, level, text,
		slog.String("group", c.group.config.Name), slog.Any("projections", count.Projections),
		slog.String("after", count.After), slog.String("last", count.Last),
		slog.Int("ids", count.IDs), slog.Int64("events", count.Events),
		slog.Int("requests", count.Cost.Requests), slog.Float64("read_units", count.Cost.ReadUnits),
		slog.Float64("write_units", count.Cost.WriteUnits), slog.Duration("elapsed", count.Elapsed))
	if c.group.config.OnSweep != nil {
		count.Projections = slices.Clone(count.Projections)
		c.group.config.OnSweep(count)
	}
}
