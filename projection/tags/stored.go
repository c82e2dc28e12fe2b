package tags

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// read reads the events of entries from the journal, if they exist: strongly consistently, for 1
// read unit each up to 4 KB. An entry names only committed events, so nothing else needs to be
// read.
func (x *Index) read(ctx context.Context, refs []tagRef) (map[tagRef]core.StoredEvent, error) {
	named := map[layout.Key]tagRef{}
	var keys []dynamo.Attributes
	for _, ref := range refs {
		key := x.keys.Event(ref.pid, ref.seq)
		if _, ok := named[key]; !ok && key.Fits() {
			named[key] = ref
			keys = append(keys, key.Attributes())
		}
	}
	stored := map[tagRef]core.StoredEvent{}
	if len(keys) == 0 {
		return stored, nil
	}
	table := core.Of(x.journal).Table
	var items []dynamo.Attributes
	err := x.operate(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		items, err = client.BatchGet(ctx, &dynamo.Meter{}, table, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		d := engine.Decoder{Table: table, Item: item}
		ref, ok := named[layout.Key{Par: engine.KeyOf(item), Num: d.Number(attrNum)}]
		if !ok {
			continue
		}
		event, ok, err := core.Of(x.journal).ReadItem(ref.pid, ref.seq/layout.PartitionSize, item)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // it was deleted
		}
		ref.writer = event.Writer
		stored[ref] = event
	}
	return stored, nil
}
