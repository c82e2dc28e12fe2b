package projection

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// maxImageBytes is how many bytes of images of a shard wait to be handled. The events of those that
// come then are read.
const maxImageBytes = 16 << 20

// record is what the record of a stream says of the item that it is of. The zero record says
// nothing: the journal must be read.
type record struct {
	seq int64
	// writer is the writer of the event, empty if the record does not name it.
	writer string
	// event is the event, nil if it can't be handled without a read.
	event *private.StoredEvent
	// bytes is the size of the image if event is set.
	bytes int64
}

// recordOf returns what the record of an insertion says, which triggers names as one of a
// persistence id. The new image is decoded by the code that decodes an item that is read. What
// can't be decoded says nothing: the reading then fails with its error, or finds it repaired.
//
// A journal that is shared with a JVM is always read. There a record may be of an event that does
// not count: it came below the low mark, or is replaced.
func (r *reader) recordOf(stream *types.Record, pid string) record {
	if len(stream.Dynamodb.NewImage) == 0 || !r.group.journal.Native() {
		return record{}
	}
	par, ok := stream.Dynamodb.Keys[attrPar].(*types.AttributeValueMemberS)
	if !ok {
		return record{}
	}
	number := par.Value[strings.LastIndex(par.Value, "-")+1:]
	partition, err := strconv.ParseInt(number, 10, 64)
	if err != nil || strconv.FormatInt(partition, 10) != number { // no reading finds 007
		return record{}
	}
	item := image(stream.Dynamodb.NewImage)
	event, ok, err := private.ReadItem(r.group.journal, pid, partition, item)
	if err != nil || !ok {
		return record{}
	}
	found := record{seq: event.SequenceNumber, writer: event.Writer}
	if (event.Single || !safeguard.ProjectionImageSingle) && r.images.Load() < maxImageBytes {
		found.event, found.bytes = &event, int64(layout.Size(item))
		r.images.Add(found.bytes)
	}
	return found
}

// drop counts the images of records as handled.
func (r *reader) drop(records []record) {
	for i := range records {
		r.images.Add(-records[i].bytes)
	}
}

// shown returns the steps that the records of the run make from an offset on, at most most. It
// reports false if the journal must be read.
//
// A writer writes in one life of a persistence id only. So a record of the writer of the event at
// the offset is of the life of the row. If its number is up to the offset, it is done. If it is a
// single event at the next number, it is committed, and it is the next step. Every other record
// needs a reading: that of a member of an atomic write, which may be incomplete; of another writer,
// which may be of another life; of a later number, as something is before it.
//
// An event that is deleted meanwhile is handled, as by a reading just before the deletion. A row
// whose writer is empty, at the beginning and behind a gap, shows no life: the journal is read.
func (r *run) shown(at offset, most int) ([]step, bool) {
	var steps []step
	for i := range r.records {
		rec := &r.records[i]
		own := rec.writer != "" && rec.writer == at.writer || !safeguard.ProjectionImageWriter
		switch {
		case own && rec.seq <= at.seq && rec.seq > 0:
		case own && rec.seq == at.seq+1 && rec.event != nil:
			if len(steps) == most {
				return steps, true
			}
			at = offset{rec.seq, rec.writer}
			steps = append(steps, step{to: at, event: rec.event})
		default:
			return nil, false
		}
	}
	return steps, len(r.records) > 0
}

// inOrder returns the records of several triggers in the order of their numbers: those of different
// shards come in any order. It returns nil if a trigger has none.
func inOrder(triggers []trigger) []record {
	var all []record
	for _, t := range triggers {
		if len(t.records) == 0 {
			return nil
		}
		all = append(all, t.records...)
	}
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(a.seq, b.seq) })
	return all
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
