package engine

import (
	"strconv"
	"strings"

	items "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Record is the content of a stream's record. The zero value has no content: the journal must be
// read.
type Record struct {
	Seq int64
	// Writer is the writer of the event, empty if the record does not name it.
	Writer string
	// After is the writer of the event before, if the record names it. It is another writer, whose
	// event the writer of this event has read.
	After string
	// Event is the event. It is nil if the event can't be handled without a read.
	Event *core.StoredEvent
	// Bytes is the size of the image if Event is set.
	Bytes int64
}

// TriggeredBy returns the persistence id of a change that may be an event or a purge. purge reports
// whether the new image of a low mark shows a purge.
func (g *Group) TriggeredBy(operation types.OperationType, par string, purge bool) (string, bool) {
	if pid, ok := g.EventOf(operation, par); ok {
		return pid, true
	}
	return g.purgeOf(operation, par, purge)
}

// EventOf returns the persistence id of a change that may be an event: the insertion of an item of
// a partition. It ignores marks, the header, and items of other journals. In a native journal a
// modified item is a deleted event; in a shared one a JVM may have overwritten something with an
// event. A removed item is never an event.
func (g *Group) EventOf(operation types.OperationType, par string) (string, bool) {
	overwritten := operation == types.OperationTypeModify && !g.Journal.Native()
	if operation != types.OperationTypeInsert && !overwritten {
		return "", false
	}
	pid, _, ok := g.partsOf(par, "-P-")
	return pid, ok
}

// purgeOf returns the persistence id of a change that may be a purge: a low mark whose new image
// shows a purge. A later deletion of the persistence id also shows the purge, and costs a read. In
// a shared journal a purge leaves no low mark.
func (g *Group) purgeOf(operation types.OperationType, par string, shown bool) (string, bool) {
	if operation == types.OperationTypeRemove || !shown || !g.Journal.Native() {
		return "", false
	}
	pid, _, ok := g.partsOf(par, "-SL-")
	return pid, ok
}

// ShowsPurge reports whether the new image of a low mark shows a purge. A low mark without an image
// may be a purge.
func ShowsPurge[V any](image map[string]V) bool {
	_, purged := image[layout.AttrPurged]
	return purged || len(image) == 0
}

// partsOf returns the persistence id and the number in a partition key of the journal, for items of
// a kind, such as -P-.
func (g *Group) partsOf(par, kind string) (pid, number string, ok bool) {
	rest, ok := strings.CutPrefix(par, g.Table.JournalName+kind)
	end := strings.LastIndex(rest, "-")
	if !ok || end < 1 {
		return "", "", false
	}
	if _, err := strconv.ParseUint(rest[end+1:], 10, 63); err != nil {
		return "", "", false
	}
	return rest[:end], rest[end+1:], true
}

// RecordOf decodes the new image of an item of a persistence id, with the code that decodes items
// of the table. It returns the zero Record for an image that can't be decoded: reading the journal
// then fails with that error, or finds the item repaired. It also does so for a low mark: the
// journal is read for the events that the mark hides.
//
// A journal that is shared with a JVM is always read. The event of a record may not count there: it
// came below the low mark, or was replaced.
func (g *Group) RecordOf(par string, image dynamo.Attributes) Record {
	if len(image) == 0 || !g.Journal.Native() {
		return Record{}
	}
	pid, number, ok := g.partsOf(par, "-P-")
	if !ok {
		return Record{}
	}
	partition, err := strconv.ParseInt(number, 10, 64)
	if err != nil || strconv.FormatInt(partition, 10) != number { // no read finds 007
		return Record{}
	}
	event, ok, err := core.Of(g.Journal).ReadItem(pid, partition, image)
	if err != nil || !ok {
		return Record{}
	}
	found := Record{Seq: event.SequenceNumber, Writer: event.Writer}
	if after, ok := image[layout.AttrAfter].(*items.AttributeValueMemberS); ok {
		found.After = after.Value
	}
	if event.Single {
		found.Event = &event
	}
	return found
}
