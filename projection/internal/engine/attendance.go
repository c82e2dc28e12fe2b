package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attendance is the state of a process on Lambda between invocations.
type attendance struct {
	// turn has a token while an invocation registers the process.
	turn   chan struct{}
	worker string

	mu sync.Mutex
	// registeredAt is when the process last registered, by the wall clock: other clocks stop while
	// a process is frozen.
	registeredAt time.Time
	// sweepRequested is when this process last requested a sweep because of old records.
	sweepRequested time.Time
	rows           *rowCache
	// claims has the claims of other runs.
	claims map[taskKey]claimSeen
}

type claimSeen struct {
	claim string
	at    time.Time
}

// maxClaimsSeen is how many claims are remembered. At the limit all are removed, including the
// claims of ids that never come again.
const maxClaimsSeen = 10_000

// see records a claim of another run, and when it was first seen.
func (a *attendance) see(key taskKey, claim string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.claims) >= maxClaimsSeen {
		clear(a.claims)
	}
	a.claims[key] = claimSeen{claim, at}
}

// seen returns the last recorded claim, and when it was first seen.
func (a *attendance) seen(key taskKey) (string, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := a.claims[key]
	return seen.claim, seen.at
}

// cachedRows returns the cache of the rows that the process has written.
func (a *attendance) cachedRows() *rowCache {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rows
}

// Join registers the process before it handles received events, and returns the projections that
// are not paused.
//
// It reads the registry in each invocation. If the registry has projections of the group that this
// process does not run, as during a deployment, Join requests a sweep for them before the records
// are done. A projection that registers after this read sweeps all persistence ids when these
// events are already committed.
func (g *Group) Join(ctx context.Context, oldest time.Time) ([]*Member, error) {
	for again := false; ; again = true {
		if err := g.appear(ctx, again); err != nil {
			return nil, err
		}
		names, all, err := g.registered(ctx)
		if err != nil {
			return nil, err
		}
		var members []*Member
		started := true
		for i, of := range g.Members {
			if all[i].resetting {
				return nil, fmt.Errorf("projection %s: %w", of.Name, ErrResetting)
			}
			started = started && all[i].started
			if of.see(all[i]); !all[i].paused {
				members = append(members, of)
			}
		}
		if !started && !again {
			continue // the table was created anew
		}
		if err := g.requestSweepsOfOthers(ctx, names); err != nil {
			return nil, err
		}
		return members, g.requestSweepIfOld(ctx, oldest)
	}
}

// registered reads the names of the journal's projections, and the standings of the group's
// projections.
func (g *Group) registered(ctx context.Context) ([]string, []standing, error) {
	keys := []dynamo.Attributes{g.Table.registryKey()}
	for _, of := range g.Members {
		keys = append(keys, g.Table.StandingKey(of.Name))
	}
	items, err := g.Table.Batch(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	d := Decoder{Table: g.Table.Name, Item: items[0]}
	names := d.Texts(attrKnown)
	if d.Err != nil {
		return nil, nil, d.Err
	}
	all, err := g.Table.decodeStandings(items[1:])
	return names, all, err
}

// requestSweepsOfOthers requests a sweep for the projections of the group on Lambda that this
// process does not run.
func (g *Group) requestSweepsOfOthers(ctx context.Context, registered []string) error {
	own := map[string]bool{}
	for _, name := range names(g.Members) {
		own[name] = true
	}
	for _, name := range registered {
		if own[name] || !strings.HasPrefix(name, g.Config.Name+"/") {
			continue
		}
		if err := g.Table.RequestSweep(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// requestSweepIfOld requests a sweep if records are so old that others may have been trimmed before
// they were read. A record is trimmed when it is a day old, and a sweep that starts later finds its
// event, so one sweep for each half of a day is enough.
func (g *Group) requestSweepIfOld(ctx context.Context, oldest time.Time) error {
	now := g.Now()
	g.lambda.mu.Lock()
	old := !oldest.IsZero() && now.Sub(oldest) > TrustedFor
	sweepRequested := !g.lambda.sweepRequested.IsZero() && now.Sub(g.lambda.sweepRequested) < TrustedFor
	g.lambda.mu.Unlock()
	if !old || sweepRequested {
		return nil
	}
	g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "records are so old that others may have been trimmed: a sweep is requested",
		slog.String("event", "projection.records_old"), slog.String("group", g.Config.Name), slog.Duration("age", now.Sub(oldest)))
	for _, of := range g.Members {
		if err := g.Table.RequestSweep(ctx, of.Name); err != nil {
			return err
		}
	}
	g.lambda.mu.Lock()
	defer g.lambda.mu.Unlock()
	g.lambda.sweepRequested = now
	return nil
}

// appear registers the process if the last registration is older than presence, or if anew is set.
// It clears the cached rows if they may have been reset since.
func (g *Group) appear(ctx context.Context, anew bool) error {
	select {
	case g.lambda.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.lambda.turn }()
	g.lambda.mu.Lock()
	said := g.lambda.registeredAt
	g.lambda.mu.Unlock()
	now := wall()
	if since := now.Sub(said); !anew && since >= 0 && since < g.presence() {
		return nil
	}
	if said.IsZero() {
		if err := g.check(ctx); err != nil {
			return err
		}
	}
	if err := g.enter(ctx, g.lambda.worker); err != nil {
		return err
	}
	if said.IsZero() || anew {
		if err := g.start(ctx); err != nil {
			return err
		}
	}
	g.findIndex(ctx)
	g.lambda.mu.Lock()
	defer g.lambda.mu.Unlock()
	if since := now.Sub(said); g.lambda.rows == nil || anew || since < 0 || since >= presences*g.presence() {
		g.lambda.rows = newRowCache()
	}
	g.lambda.registeredAt = now
	return nil
}

// wall returns the time of the wall clock, without the monotonic clock.
func wall() time.Time { return time.Now().Round(0) }

// stay renews the registration of the process until ctx ends.
func (g *Group) stay(ctx context.Context) {
	for backoff.Wait(ctx, g.presence()) == nil {
		now := wall()
		err := g.present(ctx, g.lambda.worker)
		if err == nil {
			g.lambda.mu.Lock()
			g.lambda.registeredAt = now
			g.lambda.mu.Unlock()
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			g.logPresence(ctx, err)
		}
	}
}
