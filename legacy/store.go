package legacy

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// store contains the operations that differ between hashKey and naive.
type store interface {
	// eventKey returns the key of an event's item.
	eventKey(pid string, seq int64) dynamo.Attributes
	// bounds returns the bounds of a persistence id.
	bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error)
	// highest returns the highest number that is taken.
	highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error)
	// takeOver prepares an id for a new writer. It returns the highest number that is then taken.
	// That number is at least snapshot, the number of the snapshot after which the writer
	// continues.
	takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error)
	// items passes the stored items of a window to emit, in order. At most wanted of them are
	// needed.
	items(ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64,
		emit func(seq int64, item dynamo.Attributes) error) error
	// put puts an event on the condition that its number is free. It returns nil if the event is
	// durable and readers find it. It returns errTaken if another writer was first. If the outcome
	// is unknown, the error is errUnsure or one for which dynamo.MaybeApplied is true. After any
	// other error the event is not stored.
	put(ctx context.Context, m *dynamo.Meter, e *newEvent) error
	// deleteTo deletes the numbers up to to, which is at most the highest number. It returns the
	// number of events that it has deleted.
	deleteTo(ctx context.Context, m *dynamo.Meter, pid string, to, highest int64, mark bool) (int64, error)
	// marks returns the values of the low and the high marks.
	marks(ctx context.Context, m *dynamo.Meter, pid string) (low, high []int64, err error)
	// scan returns the scan that lists the ids. idOf returns the id in an item of the scan, or ""
	// if the item has none.
	scan() *dynamodb.ScanInput
	idOf(item dynamo.Attributes) string
}

// newEvent is an event to write.
type newEvent struct {
	pid  string
	seq  int64
	item dynamo.Attributes
	// send is called before each attempt. After an error the attempt must not be sent.
	send func() error
}
