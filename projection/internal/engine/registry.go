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

// Attributes of the registry, which has an item with the names of all projections of the journal,
// and an item for each projection.
const (
	attrKnown = "known_projections"
	// attrKind is the kind of the projection.
	attrKind = "handler_kind"
	// attrFoundBy is the kind of its source.
	attrFoundBy = "found_by"
	// attrSet names the set of projections that the group last ran.
	attrSet = "set_id"
	// attrPrefixes has the prefixes of OnlyIDs. It is missing without OnlyIDs.
	attrPrefixes = "id_prefixes"
	// attrSeen is when a process last registered for the projection, in milliseconds since 1970. It
	// is a time of the process's own clock: with fractions of a second, a removal notices each
	// registration.
	attrSeen = "seen_at"
	// AttrReset names the unfinished reset or removal of the projection. It is missing if there is
	// none.
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

// Info is an operator.Info.
type Info struct {
	Projection   string
	Kind, Source string
	Processes    int
	Seen         time.Time
	Resetting    bool
	SweepPending bool
	Paused       time.Time
	Prefixes     []string

	// Set names the set of projections that the group last ran.
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

// Infos reads the registry's entries of projections. It leaves out projections without an entry.
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
			Prefixes: d.Texts(attrPrefixes), SweepPending: d.Number(AttrSweepsRequested) > d.Number(AttrSwept),
		}
		found.Processes = d.processes(now)
		if paused := d.Number(AttrPaused); paused > 0 {
			found.Paused = time.Unix(paused, 0)
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

// registryKey returns the key of the item with the names of all projections. No other item has this
// key, because the name of a group can't be empty.
func (t *Table) registryKey() dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00")}
}

// SetID returns an id of the set of projections that a group runs.
func (g *Group) SetID() string {
	const bytes = 8
	sum := sha256.Sum256([]byte(Subjects(g.Members)))
	return hex.EncodeToString(sum[:bytes])
}

// enter registers this process for the projections of the group.
//
// The process registers before it checks for a reset, and a reset is stored before it checks for
// processes. So at least one of them notices the other.
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

// noReset returns an error if the item of a projection has an unfinished reset: some rows may be
// missing, and no requested sweep is left for them yet.
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

// RemoveStanding deletes the item of a projection if no process has registered since the item was
// read.
func (t *Table) RemoveStanding(ctx context.Context, projection string, read dynamo.Attributes) error {
	only := Condition{attrSeen + " = :seen", dynamo.Attributes{":seen": read[attrSeen]}}
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{
			Table: t.Name, Key: t.StandingKey(projection), Condition: only.Expression, Values: only.Values,
		})
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return ErrAgain
	}
	return err
}
