// Package tags finds the events of a journal by their tags. An [Index] is a table, and a projection
// writes an entry into it for each tag of an event:
//
//	index, err := tags.Open(ctx, journal, "orders-by-tag") // made once by tags.Create
//	if err != nil {
//		return err
//	}
//	config := projection.Config{Name: "orders"}
//	group, err := projection.New(journal, config, index.Projection("tags"))
//
// [Index.EventsByTag] and [Index.CurrentEventsByTag] read the events of a tag in any process.
package tags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Index finds events by their tags. It has an entry for each event and tag, in a table of its own,
// which a projection writes: see [Index.Projection]. It is safe for concurrent use.
//
// The entries of a tag are in lanes, numbered from 1 without a gap. All entries of a persistence id
// are in one lane, in their order. An entry names its event; the event itself is read from the
// journal. So an event that was deleted, or whose persistence id was purged, is not found.
type Index struct {
	journal *dynajournal.Journal
	table   string
	header  tagHeader
	keys    layout.Keys

	mu sync.Mutex
	// open has the lanes that this process has written to, by partition key.
	open map[string]*tagLane
}

// MaxLanes and DefaultLanes are the largest and the default number of lanes.
const (
	MaxLanes     = 64
	DefaultLanes = 4
)

// IndexOptions are the options of [Create]. The zero value has the defaults.
type IndexOptions struct {
	// Lanes is the number of lanes of each tag. A process writes the entries of a lane one at a
	// time, and DynamoDB takes at most 1,000 a second for each lane. A reader that waits for events
	// polls all lanes of its tag. The number can't be changed later.
	//
	// From 1 to 64 ([MaxLanes]). Defaults to 4.
	Lanes int

	// ReadUnits and WriteUnits are the provisioned capacity of the table. Set both or neither; they
	// must not be negative.
	//
	// Default to capacity on demand.
	ReadUnits, WriteUnits int64
}

func (o *IndexOptions) complete() error {
	switch {
	case o.Lanes < 0 || o.Lanes > MaxLanes:
		return engine.Argument("IndexOptions.Lanes", o.Lanes, fmt.Sprintf("it must be from 1 to %d", MaxLanes))
	case o.ReadUnits < 0 || o.WriteUnits < 0 || (o.ReadUnits == 0) != (o.WriteUnits == 0):
		units := fmt.Sprintf("%d, %d", o.ReadUnits, o.WriteUnits)
		return engine.Argument("IndexOptions.ReadUnits, WriteUnits", units, "give both, or neither")
	case o.Lanes == 0:
		o.Lanes = DefaultLanes
	}
	return nil
}

// Create makes a table for an index of the tags of a journal, if it does not exist, and waits until
// it is active. The table must not be one of the journal's. To rebuild an index while the old one
// is used, make another table and run its projection under another name.
//
// Errors: a *dynajournal.ArgumentError, [dynajournal.ErrTableSchema],
// [dynajournal.ErrHeaderMismatch] (the index exists, but for another journal or with another number
// of lanes), [ErrRestored], and errors of requests. The call may be repeated. If an earlier version
// has made the index, the call stores the id of the table, by which a restored table is detected.
func Create(ctx context.Context, journal *dynajournal.Journal, table string, opts IndexOptions) error {
	if err := checkTagIndex(journal, table); err != nil {
		return err
	}
	if err := opts.complete(); err != nil {
		return err
	}
	want := tagHeader{journal: core.Of(journal).Name, id: newIndexID(), lanes: opts.Lanes}
	var stored tagHeader
	err := core.Of(journal).Requests(ctx, dynamo.ForTags, func(ctx context.Context, client *dynamo.Client) error {
		units := provision.Options{ReadUnits: opts.ReadUnits, WriteUnits: opts.WriteUnits}
		var err error
		if want.tableID, err = provision.CreateTagIndexTable(ctx, client, table, units); err != nil {
			return err
		}
		put := dynamo.Put{Table: table, Item: want.item(), Condition: "attribute_not_exists(" + engine.AttrPar + ")"}
		err = client.Put(ctx, &dynamo.Meter{}, put)
		if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
			return err
		}
		if stored, err = readTagHeader(ctx, client, table); err != nil || stored.journal != want.journal {
			return err
		}
		if err := stored.checkTable(want.tableID); err != nil {
			return err
		}
		return stored.storeTableID(ctx, client, table, want.tableID)
	})
	if err == nil && (stored.journal != want.journal || stored.lanes != want.lanes) {
		err = fmt.Errorf("%w: the index is of journal %q with %d lanes, want journal %q with %d lanes", dynajournal.ErrHeaderMismatch,
			stored.journal, stored.lanes, want.journal, want.lanes)
	}
	if err != nil {
		return fmt.Errorf("create index of tags %q: %w", table, err)
	}
	return nil
}

// Open opens the index of a journal's tags in a table. It costs 1 read unit and one DescribeTable
// request.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoIndex], [ErrRestored],
// [dynajournal.ErrHeaderMismatch] (the index is of another journal), [dynajournal.ErrCorruptItem],
// and errors of requests.
func Open(ctx context.Context, journal *dynajournal.Journal, table string) (*Index, error) {
	if err := checkTagIndex(journal, table); err != nil {
		return nil, err
	}
	var header tagHeader
	err := core.Of(journal).Requests(ctx, dynamo.ForTags, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		if header, err = headerOf(ctx, client, journal, table); err != nil || header.tableID == "" {
			return err
		}
		id, err := provision.TableID(ctx, client, table)
		if err != nil {
			return err
		}
		return header.checkTable(id)
	})
	if err != nil {
		return nil, fmt.Errorf("open index of tags %q: %w", table, err)
	}
	return &Index{
		journal: journal, table: table, header: header,
		keys: layout.Keys{Journal: header.journal, Shards: 1}, // the keys of events have no shard
		open: map[string]*tagLane{},
	}, nil
}

// headerOf reads the header of the index of a journal.
func headerOf(
	ctx context.Context, client *dynamo.Client, journal *dynajournal.Journal, table string,
) (tagHeader, error) {
	header, err := readTagHeader(ctx, client, table)
	name := core.Of(journal).Name
	switch {
	case errors.Is(err, dynajournal.ErrTableNotFound):
		err = fmt.Errorf("%w: %w", ErrNoIndex, err)
	case err == nil && header.journal != name:
		err = fmt.Errorf("%w: the index is of journal %q, want journal %q", dynajournal.ErrHeaderMismatch, header.journal, name)
	}
	return header, err
}

func checkTagIndex(journal *dynajournal.Journal, table string) error {
	if journal == nil {
		return engine.Argument("journal", nil, "it must be an open journal")
	}
	of := core.Of(journal).Table
	switch table {
	case "":
		return engine.Argument("table", table, "it is empty")
	case of, provision.ProjectionsTable(of):
		return engine.Argument("table", table, "it is a table of the journal")
	}
	if err := provision.CheckName(table); err != nil {
		return engine.Argument("table", table, err.Error())
	}
	return nil
}

// Projection returns the projection that writes the index, for [projection.New]. The name is as for
// [projection.AtLeastOnce]. An event costs 1 write unit for each tag, if the tag and the
// persistence id together have at most 800 bytes. Events without tags are read, and move the
// offset. With [projection.OnlyTags] only those tags are indexed.
//
// Each index needs one projection, always the same: a projection that starts again, after
// operator.Operator.Reset or with other options, needs another table. If an event is indexed after
// later events of its persistence id, readers take it for a repeat and drop it.
//
// While the index can't be written, persistence ids wait, but do not become stuck.
func (x *Index) Projection(name string, opts ...projection.Option) projection.Projection {
	h := &tagHandler{index: x}
	p := projection.AtLeastOnce(name, h, opts...)
	only := &engine.SpecOf(&p).Only
	only.AnyTag, h.only = true, only.Tags
	return p
}

// tagHandler is the handler of the projection of an index.
type tagHandler struct {
	index *Index
	// only has the tags that are indexed. If it is empty, all tags are indexed.
	only []string
}

// Handle adds an entry for each tag of an event.
func (h *tagHandler) Handle(ctx context.Context, event dynajournal.Event) error {
	ref := tagRef{event.PersistenceID, event.SequenceNumber, event.WriterUUID}
	for _, tag := range event.Tags {
		if len(h.only) > 0 && !slices.Contains(h.only, tag) {
			continue
		}
		if err := engine.DelayedIfPasses(h.index.add(ctx, tag, ref)); err != nil {
			return fmt.Errorf("index the tag %.100q: %w", tag, err)
		}
	}
	return nil
}

// operate calls a function that sends requests.
func (x *Index) operate(ctx context.Context, do func(context.Context, *dynamo.Client) error) error {
	return core.Of(x.journal).Requests(ctx, dynamo.ForTags, do)
}
