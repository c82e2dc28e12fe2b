package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	// has fractions of a second, so that a removal notices it.
	attrSeen = "seen_at"
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
	items, err := t.standingItems(ctx, names)
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
		found.Processes = d.processes(now)
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
	items, err := g.Table.standingItems(ctx, names(g.Members))
	if err != nil {
		return err
	}
	for i, item := range items {
		crowded, err := g.Table.forgetProcesses(ctx, item)
		if err != nil {
			return err
		}
		g.Members[i].crowded.Store(crowded)
		if err := g.Table.noReset(item); err != nil {
			return err
		}
	}
	return nil
}

// noReset returns an error if the reset of the projection of an item is not done: some of its rows
// may be missing for which no sweep is owed.
func (t *Table) noReset(item dynamo.Attributes) error {
	d := Decoder{Table: t.Name, Item: item}
	if d.Text(AttrReset) != "" {
		_, name, _ := strings.Cut(d.Text(AttrPar), "\x00")
		return fmt.Errorf("projection %s: %w", name, ErrResetting)
	}
	return d.Err
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
