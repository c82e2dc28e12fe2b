package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The attributes of the registry. It is an item of the journal with the names of all projections,
// and an item for each projection.
const (
	attrKnown = "known_projections"
	// attrKind and attrFoundBy are the kinds of a projection and of its source, attrSet the set of
	// projections that the group has last run.
	attrKind    = "handler_kind"
	attrFoundBy = "found_by"
	attrSet     = "set_id"
	// attrPrefixes are those of OnlyIDs. It is missing without.
	attrPrefixes = "id_prefixes"
	// attrSeen is when a process has last said that it runs the projection, by its own clock, which
	// has fractions of a second, so that a removal notices it. attrUntil is until when that counts,
	// by the clock of the service. Both are in milliseconds since 1970. attrWorkers are the
	// processes that run it.
	attrSeen    = "seen_at"
	attrUntil   = "seen_until"
	attrWorkers = "workers"
	// AttrReset names the reset or the removal of the projection that is not done. It is missing if
	// none is under way.
	AttrReset = "reset_id"
)

// The kinds of handlers and of sources.
const (
	KindAtLeastOnce   = "at-least-once"
	KindTransactional = "transactional"
	KindSQL           = "sql"
	SourceStreams     = "streams"
	SourceSweep       = "sweep"
	SourceLambda      = "lambda"
)

const (
	// longestPresence is the longest time after which a process says again that it is there.
	longestPresence = time.Minute
	// presences is for how many of these times a process counts that says nothing.
	presences = 3
	// leastSilence is how long a process counts at least that has not said so in time: processes
	// know the time to a second.
	leastSilence = 2 * time.Second
	// maxWorkers is how many processes are remembered: those that died are forgotten at times.
	maxWorkers = 100
)

// Info is an operator.Info. Set names the set of projections of its group that was last run.
type Info struct {
	Projection   string
	Kind, Source string
	Processes    int
	Seen         time.Time
	Resetting    bool
	Owed         bool
	Prefixes     []string

	Set string
}

// Takes reports whether the projection takes a persistence id.
func (i *Info) Takes(pid string) bool {
	only := Filter{Filtered: len(i.Prefixes) > 0, Prefixes: i.Prefixes}
	return only.Takes(pid)
}

// List returns the projections of the registry, sorted by name.
func (t *Table) List(ctx context.Context) ([]Info, error) {
	item, err := t.Get(ctx, t.registryKey())
	if err != nil {
		return nil, err
	}
	d := Decoder{Table: t.Name, Item: item}
	names := d.Texts(attrKnown)
	if d.Err != nil {
		return nil, d.Err
	}
	return t.Infos(ctx, names)
}

// Infos reads what is known of projections. Those of which nothing is are left out.
func (t *Table) Infos(ctx context.Context, names []string) ([]Info, error) {
	keys := make([]dynamo.Attributes, len(names))
	for i, name := range names {
		keys[i] = t.StandingKey(name)
	}
	items, err := t.Batch(ctx, keys)
	if err != nil {
		return nil, err
	}
	var all []Info
	now := t.now().UnixMilli()
	for _, item := range items {
		d := Decoder{Table: t.Name, Item: item}
		_, name, _ := strings.Cut(d.Text(AttrPar), "\x00")
		found := Info{
			Projection: name, Kind: d.Text(attrKind), Source: d.Text(attrFoundBy), Set: d.Text(attrSet),
			Seen: time.UnixMilli(d.Number(attrSeen)), Resetting: d.Text(AttrReset) != "",
			Prefixes: d.Texts(attrPrefixes), Owed: d.Number(AttrOwed) > d.Number(AttrSwept),
		}
		if now < d.Number(attrUntil) {
			found.Processes = len(d.Texts(attrWorkers))
		}
		if d.Err != nil {
			return nil, d.Err
		}
		if found.Kind == "" {
			continue // it was prepared, and has not run
		}
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Projection, b.Projection) })
	return all, nil
}

// registryKey returns the key of the item with the names of all projections. It is that of nothing
// else, as no name of a group is empty.
func (t *Table) registryKey() dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00")}
}

// SetID names the set of projections that a group runs.
func (g *Group) SetID() string {
	const bytes = 8
	sum := sha256.Sum256([]byte(Subjects(g.Members)))
	return hex.EncodeToString(sum[:bytes])
}

// presence is how often a process of a group says that it is there.
func (g *Group) presence() time.Duration { return min(g.Config.ClaimTimeout, longestPresence) }

// counts is how long that counts.
func (g *Group) counts() time.Duration {
	return max(presences*g.presence(), g.presence()+leastSilence)
}

// enter stores that this process runs the projections of the group.
//
// The process is there before it looks for a reset, and a reset is there before it looks for
// processes. So one of them finds the other.
func (g *Group) enter(ctx context.Context, worker string) error {
	if err := g.present(ctx, worker); err != nil {
		return err
	}
	if err := g.Table.known(ctx, g.Members); err != nil {
		return err
	}
	return g.noReset(ctx)
}

// noReset returns an error if the reset of a projection of the group is not done: some of its rows
// may be missing for which no sweep is owed.
func (g *Group) noReset(ctx context.Context) error {
	infos, err := g.Table.Infos(ctx, names(g.Members))
	if err != nil {
		return err
	}
	for _, of := range infos {
		if of.Resetting {
			return fmt.Errorf("projection %s: %w", of.Projection, ErrResetting)
		}
	}
	return nil
}

// present stores for each projection that this process runs it.
func (g *Group) present(ctx context.Context, worker string) error {
	for _, of := range g.Members {
		if err := g.presentFor(ctx, of, worker); err != nil {
			return err
		}
	}
	return nil
}

// presentFor is present for one projection. If the processes that are stored no longer count, or
// are too many, this one replaces them: those that live say so again. Processes that start at the
// same time may all find that, and the first of them replaces the others.
func (g *Group) presentFor(ctx context.Context, of *Member, worker string) error {
	now := g.Now()
	values := dynamo.Attributes{
		":kind": Text(of.kind.Delivery()), ":found": Text(g.Config.Source.Kind()), ":set": Text(g.SetID()),
		":said":  Number(time.Now().UnixMilli()),
		":until": Number(now.Add(g.counts()).UnixMilli()),
		":me":    &types.AttributeValueMemberSS{Value: []string{worker}},
		":most":  Number(maxWorkers), ":now": Number(now.UnixMilli()),
	}
	set := "SET " + attrKind + " = :kind, " + attrFoundBy + " = :found, " + attrSet + " = :set, " +
		attrSeen + " = :said, " + attrUntil + " = :until"
	remove := " REMOVE " + attrPrefixes
	if of.Only.Filtered {
		unique := slices.Compact(slices.Sorted(slices.Values(of.Only.Prefixes)))
		values[":prefixes"] = &types.AttributeValueMemberSS{Value: unique}
		set += ", " + attrPrefixes + " = :prefixes"
		remove = ""
	}
	const count = "(attribute_not_exists(" + attrWorkers + ") OR (size(" + attrWorkers + ") < :most AND " +
		attrUntil + " > :now))"
	join := dynamo.Update{Expression: set + remove + " ADD " + attrWorkers + " :me", Condition: count}
	replace := dynamo.Update{Expression: set + ", " + attrWorkers + " = :me" + remove, Condition: "NOT " + count}
	for range MostAgain {
		for _, update := range []dynamo.Update{join, replace} {
			update.Table, update.Key, update.Values = g.Table.Name, g.Table.StandingKey(of.Name), values
			if err := g.Table.Send(ctx, update); !errors.Is(err, ErrAgain) {
				return err
			}
		}
	}
	return fmt.Errorf("say that projection %s runs: %w", of.Name, ErrAgain)
}

// absent stores for each projection that this process no longer runs it.
func (g *Group) absent(ctx context.Context, worker string) {
	for _, of := range g.Members {
		err := g.Table.Send(ctx, dynamo.Update{
			Table: g.Table.Name, Key: g.Table.StandingKey(of.Name),
			Expression: "DELETE " + attrWorkers + " :me",
			Condition:  "attribute_exists(" + attrWorkers + ")",
			Values:     dynamo.Attributes{":me": &types.AttributeValueMemberSS{Value: []string{worker}}},
		})
		if err != nil && !errors.Is(err, ErrAgain) {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections could not say that it has ended",
				slog.String("group", g.Config.Name), slog.Any("error", err))
			return
		}
	}
}

// known stores the names of projections in the registry.
func (t *Table) known(ctx context.Context, members []*Member) error {
	return t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: t.registryKey(),
		Expression: "ADD " + attrKnown + " :names",
		Condition:  Always,
		Values:     dynamo.Attributes{":names": &types.AttributeValueMemberSS{Value: names(members)}},
	})
}

// names returns the names of projections.
func names(members []*Member) []string {
	all := make([]string, len(members))
	for i, of := range members {
		all[i] = of.Name
	}
	return all
}

// Unknown removes the name of a projection from the registry.
func (t *Table) Unknown(ctx context.Context, projection string) error {
	err := t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: t.registryKey(),
		Expression: "DELETE " + attrKnown + " :names",
		Condition:  "attribute_exists(" + attrKnown + ")",
		Values:     dynamo.Attributes{":names": &types.AttributeValueMemberSS{Value: []string{projection}}},
	})
	if errors.Is(err, ErrAgain) {
		return nil
	}
	return err
}

// RemoveStanding deletes the item of a projection if no process has said anything since it was
// read.
func (t *Table) RemoveStanding(ctx context.Context, projection string, read dynamo.Attributes) error {
	only := Condition{attrSeen + " = :seen", dynamo.Attributes{":seen": read[attrSeen]}}
	err := core.Of(t.Journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{
			Table: t.Name, Key: t.StandingKey(projection), Condition: only.Expression, Values: only.Values,
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return ErrAgain
	}
	return err
}
