package legacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Results of a put, besides success and the errors of requests.
var (
	errTaken  = errors.New("another writer has come first")
	errUnsure = errors.New("the outcome of the event is not known")
)

// unsure returns an error for an unknown outcome: readers may or may not find the event.
func unsure(cause error) error { return fmt.Errorf("%w: %w", errUnsure, cause) }

// putEvent puts an event if no item has its key. ours reports whether the item is known to come
// from this put. It is false if a response was lost and an equal event is stored: another writer
// may have put it.
func putEvent(
	ctx context.Context, m *dynamo.Meter, client *dynamo.Client, table, keyName string, e *newEvent,
) (ours bool, err error) {
	err = client.Put(ctx, m, dynamo.Put{
		Table:     table,
		Item:      e.item,
		Condition: "attribute_not_exists(#key)",
		Names:     map[string]string{"#key": keyName},
		Before:    e.send,
	})
	switch {
	case err == nil:
		return true, nil
	case !errors.Is(err, dynamo.ErrConditionFailed):
		return false, err
	case !dynamo.MaybeApplied(err): // no attempt of this put was applied
		return false, errTaken
	}
	stored := dynamo.OldItem(err)
	if stored == nil {
		key := dynamo.Attributes{}
		for _, name := range []string{keyName, attrSequence} {
			if v := e.item[name]; v != nil {
				key[name] = v
			}
		}
		if stored, err = client.Get(ctx, m, table, key); err != nil {
			return false, unsure(err)
		}
	}
	if !samePayload(stored, e.item) {
		return false, errTaken
	}
	return false, nil
}
