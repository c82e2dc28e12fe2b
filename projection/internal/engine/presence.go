package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// A process that runs a projection registers in the item of the projection, and renews the
// registration. Each process has an attribute of its own, so that no process counts or removes
// another one by mistake.
const (
	// attrProcess is the prefix of the names of the attributes of processes. The value is the time
	// until which the process counts, by the clock of the service, in milliseconds since 1970.
	attrProcess = "process_"
	// attrUntil and attrWorkers are the form of version 0.1.0: the time until which the last
	// registration counts, and the processes. They have only the process that registered last,
	// unless processes of that version also run.
	attrUntil   = "seen_until"
	attrWorkers = "workers"
)

const (
	// longestPresence is the longest interval at which a process renews its registration.
	longestPresence = time.Minute
	// presences is the number of intervals for which a registration counts without a renewal.
	presences = 3
	// renewalGrace is the minimum time for which a process counts after a missed renewal: processes
	// know the time to a second.
	renewalGrace = 2 * time.Second
	// maxProcesses is the number of processes above which further ones store no attribute: the item
	// must not become large, because each write costs its size.
	maxProcesses = 100
	// mostForgotten is how many processes are removed at once: an expression has at most 4 KB.
	mostForgotten = 50
)

// processOf returns the name of the attribute of a process.
func processOf(worker string) string {
	const enough = 8 // of the digits of a random UUID
	return attrProcess + worker[:enough]
}

// presence returns the interval at which a process of the group renews its registration.
func (g *Group) presence() time.Duration { return min(g.Config.ClaimTimeout, longestPresence) }

// counts returns how long a registration counts.
func (g *Group) counts() time.Duration {
	return max(presences*g.presence(), g.presence()+renewalGrace)
}

// present registers this process for each projection.
func (g *Group) present(ctx context.Context, worker string) error {
	for _, of := range g.Members {
		if err := g.presentFor(ctx, of, worker); err != nil {
			return err
		}
	}
	return nil
}

// presentFor is present for one projection.
func (g *Group) presentFor(ctx context.Context, of *Member, worker string) error {
	c := Change{Set: dynamo.Attributes{
		attrKind: Text(of.kind.Delivery()), attrFoundBy: Text(g.Config.Source.Kind()), attrSet: Text(g.SetID()),
		attrSeen: Number(time.Now().UnixMilli()), attrUntil: Number(g.Now().Add(g.counts()).UnixMilli()),
		attrWorkers: &types.AttributeValueMemberSS{Value: []string{worker}},
	}}
	if !of.crowded.Load() {
		c.Set[processOf(worker)] = c.Set[attrUntil]
	}
	if of.Only.Filtered {
		unique := slices.Compact(slices.Sorted(slices.Values(of.Only.Prefixes)))
		c.Set[attrPrefixes] = &types.AttributeValueMemberSS{Value: unique}
	} else {
		c.Removed = []string{attrPrefixes}
	}
	if err := g.Table.Update(ctx, g.Table.StandingKey(of.Name), c, Condition{Always, dynamo.Attributes{}}); err != nil {
		return fmt.Errorf("register a process of projection %s: %w", of.Name, err)
	}
	return nil
}

// logPresence logs that the process could not renew its registration.
func (g *Group) logPresence(ctx context.Context, err error) {
	g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a process could not store that it runs projections",
		slog.String("event", "projection.registration_failed"), slog.String("group", g.Config.Name), slog.Any("error", err))
}

// absent removes the registration of this process for each projection.
func (g *Group) absent(ctx context.Context, worker string) {
	for _, of := range g.Members {
		err := g.Table.Send(ctx, dynamo.Update{
			Table: g.Table.Name, Key: g.Table.StandingKey(of.Name),
			Expression: "REMOVE " + processOf(worker) + " DELETE " + attrWorkers + " :me",
			Condition:  "attribute_exists(" + processOf(worker) + ")",
			Values:     dynamo.Attributes{":me": &types.AttributeValueMemberSS{Value: []string{worker}}},
		})
		if err != nil && !errors.Is(err, ErrAgain) {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a process could not store that it no longer runs projections",
				slog.String("event", "projection.deregistration_failed"), slog.String("group", g.Config.Name), slog.Any("error", err))
			return
		}
	}
}

// processes returns how many processes run the projection of an item at now, in milliseconds since
// 1970.
func (d *Decoder) processes(now int64) int {
	count := 0
	for name := range d.Item {
		if strings.HasPrefix(name, attrProcess) && now < d.Number(name) {
			count++
		}
	}
	if count == 0 && now < d.Number(attrUntil) {
		return len(d.Texts(attrWorkers)) // of version 0.1.0
	}
	return count
}

// forgetProcesses removes the processes that no longer count from the item of a projection. It
// reports whether more than maxProcesses processes count. A process that has registered since the
// item was read remains.
func (t *Table) forgetProcesses(ctx context.Context, item dynamo.Attributes) (crowded bool, err error) {
	d := Decoder{Table: t.Name, Item: item}
	now, living := t.now().UnixMilli(), 0
	var dead []string
	for name := range item {
		switch {
		case !strings.HasPrefix(name, attrProcess):
		case now < d.Number(name):
			living++
		case len(dead) < mostForgotten:
			dead = append(dead, name)
		}
	}
	crowded = living > maxProcesses
	if d.Err != nil || len(dead) == 0 {
		return crowded, d.Err
	}
	only := Condition{"attribute_exists(" + AttrPar + ")", dynamo.Attributes{}}
	for _, name := range dead {
		only = only.And(Condition{name + " = :" + name, dynamo.Attributes{":" + name: item[name]}})
	}
	err = t.Update(ctx, dynamo.Attributes{AttrPar: item[AttrPar]}, Change{Removed: dead}, only)
	if errors.Is(err, ErrAgain) {
		err = nil
	}
	return crowded, err
}
