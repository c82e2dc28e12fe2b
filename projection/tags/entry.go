package tags

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The attributes of the table of an index, in addition to attributes of the projections table. An
// entry has engine.AttrPar, attrNum, attrPID, engine.AttrSeq and engine.AttrWriter. A removed entry
// has attrGone instead of the last three, so that the numbers of its lane stay without a gap.
const (
	attrNum     = "num"
	attrPID     = "pid"
	attrGone    = "gone"
	attrVersion = "version"
	attrJournal = "journal"
	attrLanes   = "lanes"
	attrIndexID = "index_id"
	attrTableID = "table_id"
)

// tagVersion is the version of the stored form of an index.
const tagVersion = 1

// entryPrefix begins the partition keys of entries.
const entryPrefix = "tag\x00"

// longTag is the maximum length of a tag in a key, in bytes. The key of a longer tag has its hash.
const longTag = 800

// tagHeader is the item that describes an index.
type tagHeader struct {
	// journal is the name of the journal. id distinguishes the index from others; offsets contain
	// it.
	journal, id string
	lanes       int
	// tableID is the id of the table that the index was made in. It is empty if an earlier version
	// has made the index, or if the table has replicas in other Regions.
	tableID string
}

func tagHeaderKey() dynamo.Attributes {
	return dynamo.Attributes{engine.AttrPar: engine.Text("header"), attrNum: engine.Number(0)}
}

func (h *tagHeader) item() dynamo.Attributes {
	item := tagHeaderKey()
	item[attrVersion], item[attrLanes] = engine.Number(tagVersion), engine.Number(int64(h.lanes))
	item[attrJournal], item[attrIndexID] = engine.Text(h.journal), engine.Text(h.id)
	if h.tableID != "" {
		item[attrTableID] = engine.Text(h.tableID)
	}
	return item
}

func readTagHeader(ctx context.Context, client *dynamo.Client, table string) (tagHeader, error) {
	item, err := client.Get(ctx, &dynamo.Meter{}, table, tagHeaderKey())
	if err != nil {
		return tagHeader{}, err
	}
	if item == nil {
		return tagHeader{}, fmt.Errorf("%w: the table has no header", ErrNoIndex)
	}
	d := engine.Decoder{Table: table, Item: item}
	version, lanes := d.Number(attrVersion), d.Number(attrLanes)
	h := tagHeader{journal: d.Text(attrJournal), id: d.Text(attrIndexID), lanes: int(min(lanes, math.MaxInt32))}
	if _, ok := item[attrTableID]; ok {
		h.tableID = d.Text(attrTableID)
	}
	if version != tagVersion {
		d.Fail(attrVersion, fmt.Errorf("unknown version %d, want %d", version, tagVersion))
	}
	if lanes < 1 || lanes > MaxLanes {
		d.Fail(attrLanes, fmt.Errorf("lanes out of range: %d", lanes))
	}
	if !isIndexID(h.id) {
		d.Fail(attrIndexID, fmt.Errorf("invalid index id %.20q", h.id))
	}
	return h, d.Err
}

// tagRef names an event. The writer distinguishes it from events of other lives of the persistence
// id.
type tagRef struct {
	pid    string
	seq    int64
	writer string
}

// tagEntry is an entry of a lane. Its ref is zero if the entry was removed.
type tagEntry struct {
	tagRef

	num int64
}

// laneOf returns the lane of a persistence id.
func (x *Index) laneOf(pid string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pid)) // it has no error
	return int(h.Sum32() % uint32(x.header.lanes))
}

// lanePar returns the partition key of a lane of a tag.
func lanePar(tag string, lane int) string {
	kind := "t"
	if len(tag) > longTag {
		sum := sha256.Sum256([]byte(tag))
		kind, tag = "h", hex.EncodeToString(sum[:])
	}
	return entryPrefix + strconv.Itoa(lane) + "\x00" + kind + tag
}

func tagKey(par string, num int64) dynamo.Attributes {
	return dynamo.Attributes{engine.AttrPar: engine.Text(par), attrNum: engine.Number(num)}
}

func (e *tagEntry) item(par string) dynamo.Attributes {
	item := tagKey(par, e.num)
	item[attrPID], item[engine.AttrSeq], item[engine.AttrWriter] = engine.Text(e.pid), engine.Number(e.seq), engine.Text(e.writer)
	return item
}

func (x *Index) decodeEntry(item dynamo.Attributes) (tagEntry, error) {
	d := engine.Decoder{Table: x.table, Item: item}
	e := tagEntry{tagRef{d.Text(attrPID), d.Number(engine.AttrSeq), d.Text(engine.AttrWriter)}, d.Number(attrNum)}
	if e.num < 1 || e.num == math.MaxInt64 {
		d.Fail(attrNum, fmt.Errorf("entry number out of range: %d", e.num))
	}
	_, gone := item[attrGone]
	if gone {
		e.tagRef = tagRef{}
	}
	if !gone && (e.pid == "" || e.seq == 0) {
		d.Fail(attrPID, errors.New("the entry does not name an event"))
	}
	return e, d.Err
}
