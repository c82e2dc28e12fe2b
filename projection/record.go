package projection

import (
	"strconv"
	"strings"

	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// record is what the record of a stream says of the item that it is of. The zero record says
// nothing: the journal must be read.
type record struct {
	seq int64
	// writer is the writer of the event, empty if the record does not name it.
	writer string
	// event is the event, nil if it can't be handled without a read.
	event *core.StoredEvent
	// bytes is the size of the image if event is set.
	bytes int64
}

// triggers returns the persistence id of a record of the stream that makes the group read it, or
// take the event of the record.
func (g *Group) triggers(record *types.Record) (string, bool) {
	par, ok := parOf(record)
	if !ok {
		return "", false
	}
	return g.triggeredBy(record.EventName, par, showsPurge(record.Dynamodb.NewImage))
}

// parOf returns the partition key of the item that a record is of.
func parOf(record *types.Record) (string, bool) {
	if record.Dynamodb == nil {
		return "", false
	}
	par, ok := record.Dynamodb.Keys[attrPar].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return par.Value, true
}

// triggeredBy returns the persistence id of a change that can be of an event or of a purge. purge
// reports whether the new image of a low mark shows a purge.
func (g *Group) triggeredBy(operation types.OperationType, par string, purge bool) (string, bool) {
	if pid, ok := g.eventOf(operation, par); ok {
		return pid, true
	}
	return g.purgeOf(operation, par, purge)
}

// eventOf returns the persistence id of a change that can be of an event: the insertion of an item
// of a partition. Marks, the header, and items of other journals are passed over. In a native
// journal an item that is changed is a deleted event; in a shared one a JVM may have overwritten
// something with an event. An item that is removed is never an event.
func (g *Group) eventOf(operation types.OperationType, par string) (string, bool) {
	overwritten := operation == types.OperationTypeModify && !g.journal.Native()
	if operation != types.OperationTypeInsert && !overwritten {
		return "", false
	}
	pid, _, ok := g.partsOf(par, "-P-")
	return pid, ok
}

// purgeOf returns the persistence id of a change that can be of a purge: that of a low mark whose
// new image shows one. A later deletion of the persistence id shows it as well, and costs a
// reading. In a shared journal a purge leaves no low mark.
func (g *Group) purgeOf(operation types.OperationType, par string, shown bool) (string, bool) {
	if operation == types.OperationTypeRemove || !shown || !g.journal.Native() {
		return "", false
	}
	pid, _, ok := g.partsOf(par, "-SL-")
	return pid, ok
}

// showsPurge reports whether the new image of a low mark shows a purge. Without an image it may be
// one.
func showsPurge[V any](image map[string]V) bool {
	_, purged := image[layout.AttrPurged]
	return purged || len(image) == 0
}

// partsOf returns the persistence id and the number in a partition key of the journal, of items of
// a kind.
func (g *Group) partsOf(par, kind string) (pid, number string, ok bool) {
	rest, ok := strings.CutPrefix(par, g.table.journalName+kind)
	end := strings.LastIndex(rest, "-")
	if !ok || end < 1 {
		return "", "", false
	}
	if _, err := strconv.ParseUint(rest[end+1:], 10, 63); err != nil {
		return "", "", false
	}
	return rest[:end], rest[end+1:], true
}

// recordOf returns what the new image of an item of a persistence id says. It is decoded by the
// code that decodes an item that is read. What can't be decoded says nothing: the reading then
// fails with its error, or finds it repaired. A low mark says nothing: what it hides is read.
//
// A journal that is shared with a JVM is always read. There a record may be of an event that does
// not count: it came below the low mark, or is replaced.
func (g *Group) recordOf(par string, image dynamo.Attributes) record {
	if len(image) == 0 || !g.journal.Native() {
		return record{}
	}
	pid, number, ok := g.partsOf(par, "-P-")
	if !ok {
		return record{}
	}
	partition, err := strconv.ParseInt(number, 10, 64)
	if err != nil || strconv.FormatInt(partition, 10) != number { // no reading finds 007
		return record{}
	}
	event, ok, err := core.Of(g.journal).ReadItem(pid, partition, image)
	if err != nil || !ok {
		return record{}
	}
	found := record{seq: event.SequenceNumber, writer: event.Writer}
	if event.Single {
		found.event = &event
	}
	return found
}

// image returns the attributes of an image in the form of an item that is read.
func image(of map[string]types.AttributeValue) dynamo.Attributes {
	item := make(dynamo.Attributes, len(of))
	for name, v := range of {
		item[name] = value(v)
	}
	return item
}

// value returns a value of a stream as a value of a table. One of an unknown type becomes a null,
// which no attribute of an event is.
func value(of types.AttributeValue) dynamotypes.AttributeValue {
	switch v := of.(type) {
	case *types.AttributeValueMemberS:
		return &dynamotypes.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &dynamotypes.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &dynamotypes.AttributeValueMemberB{Value: v.Value}
	case *types.AttributeValueMemberBOOL:
		return &dynamotypes.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &dynamotypes.AttributeValueMemberSS{Value: v.Value}
	case *types.AttributeValueMemberNS:
		return &dynamotypes.AttributeValueMemberNS{Value: v.Value}
	case *types.AttributeValueMemberBS:
		return &dynamotypes.AttributeValueMemberBS{Value: v.Value}
	case *types.AttributeValueMemberM:
		return &dynamotypes.AttributeValueMemberM{Value: image(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]dynamotypes.AttributeValue, len(v.Value))
		for i := range v.Value {
			list[i] = value(v.Value[i])
		}
		return &dynamotypes.AttributeValueMemberL{Value: list}
	}
	return &dynamotypes.AttributeValueMemberNULL{Value: true}
}
