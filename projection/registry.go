package projection

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

	"github.com/dynajournal/dynajournal"
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
	// attrReset names the reset or the removal of the projection that is not done. It is missing if
	// none is under way.
	attrReset = "reset_id"
)

// The kinds of handlers and of sources.
const (
	kindAtLeastOnce   = "at-least-once"
	kindTransactional = "transactional"
	kindSQL           = "sql"
	sourceStreams     = "streams"
	sourceSweep       = "sweep"
	sourceLambda      = "lambda"
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

// Info is what is known of a projection.
type Info struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// Kind is at-least-once, transactional or sql, Source streams, sweep or lambda.
	Kind, Source string
	// Processes is how many processes run it. One that has crashed counts for up to 3 minutes.
	Processes int
	// Seen is when a process has last said that it runs it, by the clock of that process.
	Seen time.Time
	// Resetting reports whether a [Operator.Reset] or a [Operator.Remove] was interrupted: it must
	// be called again.
	Resetting bool
	// Owed reports whether all persistence ids are still to be looked at, on Lambda by
	// [Group.Maintain]. Of a group with [Streams] see [Position].
	Owed bool

	// Prefixes are those of OnlyIDs, none if the projection takes all persistence ids.
	Prefixes []string

	// set names the set of projections of its group that was last run.
	set string
}

// takes reports whether the projection takes a persistence id.
func (i *Info) takes(pid string) bool {
	only := filter{filtered: len(i.Prefixes) > 0, prefixes: i.Prefixes}
	return only.takes(pid)
}

// List returns the projections that a group of the journal has ever run, sorted by name. It reads 1
// read unit for each, and does not scan. A group writes 1 unit for each projection when it begins,
// when it ends, and once a minute, and reads 1 unit every 10 seconds.
//
// Errors: a *dynajournal.ArgumentError, and those of requests.
func List(ctx context.Context, journal *dynajournal.Journal) ([]Info, error) {
	if journal == nil {
		return nil, argument("journal", nil, "it must be an open journal")
	}
	all, err := openTable(journal).list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list projections: %w", err)
	}
	return all, nil
}

func (t *table) list(ctx context.Context) ([]Info, error) {
	item, err := t.get(ctx, t.registryKey())
	if err != nil {
		return nil, err
	}
	d := decoder{table: t.name, item: item}
	names := d.texts(attrKnown)
	if d.err != nil {
		return nil, d.err
	}
	return t.infos(ctx, names)
}

// infos reads what is known of projections. Those of which nothing is are left out.
func (t *table) infos(ctx context.Context, names []string) ([]Info, error) {
	keys := make([]dynamo.Attributes, len(names))
	for i, name := range names {
		keys[i] = t.standingKey(name)
	}
	items, err := t.batch(ctx, keys)
	if err != nil {
		return nil, err
	}
	var all []Info
	now := t.now().UnixMilli()
	for _, item := range items {
		d := decoder{table: t.name, item: item}
		_, name, _ := strings.Cut(d.text(attrPar), "\x00")
		info := Info{
			Projection: name, Kind: d.text(attrKind), Source: d.text(attrFoundBy), set: d.text(attrSet),
			Seen: time.UnixMilli(d.number(attrSeen)), Resetting: d.text(attrReset) != "",
			Prefixes: d.texts(attrPrefixes), Owed: d.number(attrOwed) > d.number(attrSwept),
		}
		if now < d.number(attrUntil) {
			info.Processes = len(d.texts(attrWorkers))
		}
		if d.err != nil {
			return nil, d.err
		}
		if info.Kind == "" {
			continue // it was prepared, and has not run
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Projection, b.Projection) })
	return all, nil
}

// registryKey returns the key of the item with the names of all projections. It is that of nothing
// else, as no name of a group is empty.
func (t *table) registryKey() dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(t.journalName + "\x00")}
}

// setID names the set of projections that a group runs.
func (g *Group) setID() string {
	const bytes = 8
	sum := sha256.Sum256([]byte(subjects(g.members)))
	return hex.EncodeToString(sum[:bytes])
}

// presence is how often a process of a group says that it is there.
func (g *Group) presence() time.Duration { return min(g.config.ClaimTimeout, longestPresence) }

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
	if err := g.table.known(ctx, g.members); err != nil {
		return err
	}
	return g.noReset(ctx)
}

// noReset returns an error if the reset of a projection of the group is not done: some of its rows
// may be missing for which no sweep is owed.
func (g *Group) noReset(ctx context.Context) error {
	infos, err := g.table.infos(ctx, names(g.members))
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Resetting {
			return fmt.Errorf("projection %s: %w", info.Projection, ErrResetting)
		}
	}
	return nil
}

// present stores for each projection that this process runs it.
func (g *Group) present(ctx context.Context, worker string) error {
	source := g.config.Source.kind()
	for _, of := range g.members {
		now := g.now()
		values := func() dynamo.Attributes {
			all := dynamo.Attributes{
				":kind": text(of.kind.delivery()), ":found": text(source), ":set": text(g.setID()),
				":said":  number(time.Now().UnixMilli()),
				":until": number(now.Add(g.counts()).UnixMilli()),
				":me":    &types.AttributeValueMemberSS{Value: []string{worker}},
			}
			if of.only.filtered {
				unique := slices.Compact(slices.Sorted(slices.Values(of.only.prefixes)))
				all[":prefixes"] = &types.AttributeValueMemberSS{Value: unique}
			}
			return all
		}
		set := "SET " + attrKind + " = :kind, " + attrFoundBy + " = :found, " + attrSet + " = :set, " +
			attrSeen + " = :said, " + attrUntil + " = :until"
		remove := ""
		if of.only.filtered {
			set += ", " + attrPrefixes + " = :prefixes"
		} else {
			remove = " REMOVE " + attrPrefixes
		}
		added := values()
		added[":most"], added[":now"] = number(maxWorkers), number(now.UnixMilli())
		err := g.table.send(ctx, dynamo.Update{
			Table: g.table.name, Key: g.table.standingKey(of.name), Values: added,
			Expression: set + remove + " ADD " + attrWorkers + " :me",
			Condition: "attribute_not_exists(" + attrWorkers + ") OR (size(" + attrWorkers + ") < :most AND " +
				attrUntil + " > :now)",
		})
		if errors.Is(err, errAgain) { // those that live say so again
			err = g.table.send(ctx, dynamo.Update{
				Table: g.table.name, Key: g.table.standingKey(of.name), Values: values(),
				Expression: set + ", " + attrWorkers + " = :me" + remove, Condition: always,
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absent stores for each projection that this process no longer runs it.
func (g *Group) absent(ctx context.Context, worker string) {
	for _, of := range g.members {
		err := g.table.send(ctx, dynamo.Update{
			Table: g.table.name, Key: g.table.standingKey(of.name),
			Expression: "DELETE " + attrWorkers + " :me",
			Condition:  "attribute_exists(" + attrWorkers + ")",
			Values:     dynamo.Attributes{":me": &types.AttributeValueMemberSS{Value: []string{worker}}},
		})
		if err != nil && !errors.Is(err, errAgain) {
			g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections could not say that it has ended",
				slog.String("group", g.config.Name), slog.Any("error", err))
			return
		}
	}
}

// known stores the names of projections in the registry.
func (t *table) known(ctx context.Context, members []*member) error {
	return t.send(ctx, dynamo.Update{
		Table: t.name, Key: t.registryKey(),
		Expression: "ADD " + attrKnown + " :names",
		Condition:  always,
		Values:     dynamo.Attributes{":names": &types.AttributeValueMemberSS{Value: names(members)}},
	})
}

// names returns the names of projections.
func names(members []*member) []string {
	all := make([]string, len(members))
	for i, of := range members {
		all[i] = of.name
	}
	return all
}
