package legacy

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// store is what the two kinds of layouts do each in its own way: hashKey and naive.
type store interface {
	// eventKey is the key of an event's item.
	eventKey(pid string, seq int64) dynamo.Attributes
	// bounds are the bounds of an id.
	bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error)
	// highest is the highest number that is taken.
	highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error)
	// takeOver does what has to be done before a writer may write, and gives the highest number that is taken then: at least
	// that of the snapshot that the writer comes from.
	takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error)
	// items reads the items of a window in order, as far as there are some. wanted is how many of them are needed at most.
	items(ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64, emit func(seq int64, item dynamo.Attributes) error) error
	// put puts an event under the condition that its number is free. It returns nil if the event is durable and will be found,
	// errTaken if another writer has come first, an error with dynamo.MaybeApplied or of errUnsure if that is not known, and any
	// other if the event is not there.
	put(ctx context.Context, m *dynamo.Meter, e *newEvent) error
	// deleteTo deletes the numbers up to one, which is at most the highest, and gives how many events it has deleted.
	deleteTo(ctx context.Context, m *dynamo.Meter, pid string, to, highest int64, mark bool) (int64, error)
	// marks are the values of the low and the high marks.
	marks(ctx context.Context, m *dynamo.Meter, pid string) (low, high []int64, err error)
	// scan asks for what ids reads, and idOf tells which id an item of that is of; empty if it tells none.
	scan() *dynamodb.ScanInput
	idOf(item dynamo.Attributes) string
}

// newEvent is an event on its way into the table.
type newEvent struct {
	pid  string
	seq  int64
	item dynamo.Attributes
	// send is asked before each try is sent: false means that it must not be.
	send func() error
}
