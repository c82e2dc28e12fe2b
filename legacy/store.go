package legacy

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// store has the operations that differ between hashKey and naive.
type store interface {
	// eventKey returns the key of an event's item.
	eventKey(pid string, seq int64) dynamo.Attributes
	// bounds returns the bounds of a persistence id.
	bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error)
	// highest returns the highest number that is taken.
	highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error)
	// takeOver prepares an id for a new writer. It returns the highest number that is taken then,
	// which is at least snapshot, the number of the snapshot that the writer continues from.
	takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error)
	// items passes the stored items of a window to emit, in order. At most wanted of them are
	// needed.
	items(ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64,
		emit func(seq int64, item dynamo.Attributes) error) error
	// put puts an event under the condition that its number is free. It returns nil if the event is
	// durable and readers find it, errTaken if another writer was first, an error with
	// dynamo.MaybeApplied or of errUnsure if the outcome is not known, and any other error if the
	// event is not stored.
	put(ctx context.Context, m *dynamo.Meter, e *newEvent) error
	// deleteTo deletes the numbers up to to, which is at most the highest. It returns how many
	// events it has deleted.
	deleteTo(ctx context.Context, m *dynamo.Meter, pid string, to, highest int64, mark bool) (int64, error)
	// marks returns the values of the low and the high marks.
	marks(ctx context.Context, m *dynamo.Meter, pid string) (low, high []int64, err error)
	// scan returns the scan that lists the ids. idOf returns the id of an item of the scan, empty
	// if it has none.
	scan() *dynamodb.ScanInput
	idOf(item dynamo.Attributes) string
}

// newEvent is an event that is to be written.
type newEvent struct {
	pid  string
	seq  int64
	item dynamo.Attributes
	// send is called before each attempt. After an error the attempt must not be sent.
	send func() error
}
