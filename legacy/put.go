package legacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// What a put can come to, beside success and the errors of requests.
var (
	errTaken  = errors.New("another writer has come first")
	errUnsure = errors.New("the event may stand or not")
)

// unsure is an error after which nobody knows whether the event counts.
func unsure(cause error) error { return fmt.Errorf("%w: %w", errUnsure, cause) }

// putEvent puts an event where nothing stands. ours says that the put is known to have been this writer's: where an answer was
// lost and the very same event stands there, another writer may have put the same.
func putEvent(ctx context.Context, m *dynamo.Meter, client *dynamo.Client, table, keyName string, e *newEvent) (ours bool, err error) {
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
	case !dynamo.MaybeApplied(err): // no try of this one was done
		return false, errTaken
	}
	standing := dynamo.OldItem(err)
	if standing == nil {
		key := dynamo.Attributes{}
		for _, name := range []string{keyName, attrSequence} {
			if v := e.item[name]; v != nil {
				key[name] = v
			}
		}
		if standing, err = client.Get(ctx, m, table, key); err != nil {
			return false, unsure(err)
		}
	}
	if !samePayload(standing, e.item) {
		return false, errTaken
	}
	return false, nil
}
