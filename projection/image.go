package projection

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// maxImageBytes is how many bytes of images of a shard wait to be handled. The events of those that
// come then are read.
const maxImageBytes = 16 << 20

// recordOf returns what a record says that triggers has accepted. While images of maxImageBytes
// wait, it has no event.
func (r *reader) recordOf(stream *types.Record) record {
	par, ok := parOf(stream)
	if !ok || len(stream.Dynamodb.NewImage) == 0 {
		return record{}
	}
	item := image(stream.Dynamodb.NewImage)
	found := r.group.recordOf(par, item)
	switch {
	case found.event == nil:
	case r.images.Load() >= maxImageBytes:
		found.event = nil
	default:
		found.bytes = int64(layout.Size(item))
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
		own := rec.writer != "" && rec.writer == at.writer
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
