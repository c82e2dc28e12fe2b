package stream

import (
	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// maxImageBytes is the maximum size of a shard's images that wait to be handled. The events of
// further images are read from the journal.
const maxImageBytes = 16 << 20

// recordOf decodes a record that triggers has accepted. While images of maxImageBytes wait, the
// result has no event.
func (r *reader) recordOf(stream *wire.Record) engine.Record {
	par, ok := parOf(stream)
	if !ok || len(stream.NewImage) == 0 {
		return engine.Record{}
	}
	found := r.Group.RecordOf(par, stream.NewImage)
	switch {
	case found.Event == nil:
	case r.images.Load() >= maxImageBytes:
		found.Event = nil
	default:
		found.Bytes = int64(layout.Size(stream.NewImage))
		r.images.Add(found.Bytes)
	}
	return found
}

// drop subtracts the images of handled records from images.
func (r *reader) drop(records []engine.Record) {
	for i := range records {
		r.images.Add(-records[i].Bytes)
	}
}
