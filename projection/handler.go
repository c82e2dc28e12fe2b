package projection

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Handler handles events, each at least once. It gets the events of one persistence id one after
// the other, in their order; those of different ids at the same time. It must return when ctx ends,
// which is a third of Config.ClaimTimeout after the call at the latest. An error or a panic makes
// the group call it again later with the same event, and with those after it.
//
// It can also be a [BatchHandler], a [GapHandler] and a [PurgeHandler].
type Handler interface {
	// Handle handles an event. If the journal's adapter makes several events of a stored one, they
	// are repeated together. See [Delayed] for failures that pass.
	Handle(ctx context.Context, event dynajournal.Event) error
}

// HandlerFunc is a Handler that is a function.
type HandlerFunc func(ctx context.Context, event dynajournal.Event) error

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, event dynajournal.Event) error { return f(ctx, event) }

// Gap is a range of sequence numbers that were deleted before the projection had read them. Some of
// them may never have had an event.
type Gap struct {
	PersistenceID string
	// First and Last are the first and the last number.
	First, Last int64
}

// GapHandler is implemented by handlers that want to know of gaps. The others continue without.
type GapHandler interface {
	// HandleGap is called in the order of the events, and repeated like Handle.
	HandleGap(ctx context.Context, gap Gap) error
}

// Purge is the end of what a persistence id has had: it was purged, and may be used again. A
// journal that was restored from a backup that is older than the projection looks the same.
type Purge struct {
	PersistenceID string
	// Offset is the number up to which events had been handled.
	Offset int64
	// Last is the highest number that the purge has taken: the purge covers all events up to Last,
	// and the next event has a higher number.
	//
	// It is below Offset, or both are 0, where numbers are used again: everything was erased with
	// dynajournal.PurgeOptions.Now or in a journal that is shared with a JVM, or an older journal
	// was restored. The next event then has the number Last+1 or a higher one.
	Last int64
}

// PurgeHandler is implemented by handlers that want to know of purges. The others continue without.
type PurgeHandler interface {
	// HandlePurge is called in the order of the events, and repeated like Handle. A process that
	// stands still for longer than Config.ClaimTimeout may call it when another one has handled
	// events after the purge: a transactional handler can't. So keep the number of each event, and
	// remove only what is of events up to purge.Last, or up to purge.Offset if that is higher.
	HandlePurge(ctx context.Context, purge Purge) error
}

// TransactionalHandler makes items of events. The group writes the items of an event and the offset
// in one transaction of DynamoDB, so each event has its effect once. It may be called several times
// for an event: it must have no effects of its own. If a condition of an item fails, that is a
// failure of the handler.
//
// It can also have the methods of [TransactionalGapHandler] and [TransactionalPurgeHandler].
type TransactionalHandler interface {
	// Handle returns the items for an event: at most 99 and 4 MB, no two of the same key. If the
	// journal's adapter makes several events of a stored one, this holds for all together.
	Handle(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error)
}

// TransactionalFunc is a TransactionalHandler that is a function.
type TransactionalFunc func(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error)

// Handle calls the function.
func (f TransactionalFunc) Handle(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error) {
	return f(ctx, event)
}

// TransactionalGapHandler is a GapHandler whose items are written with the offset.
type TransactionalGapHandler interface {
	// HandleGap returns the items for a gap.
	HandleGap(ctx context.Context, gap Gap) ([]types.TransactWriteItem, error)
}

// TransactionalPurgeHandler is a PurgeHandler whose items are written with the offset.
type TransactionalPurgeHandler interface {
	// HandlePurge returns the items for a purge.
	HandlePurge(ctx context.Context, purge Purge) ([]types.TransactWriteItem, error)
}

// Projection is a name and a handler.
type Projection struct{ inSpec } //nolint:unused // its methods are promoted

type inSpec = engine.SpecHandle //nolint:unused // its methods are promoted

// AtLeastOnce returns a projection whose handler gets each event at least once: again after a crash
// or a failure. The name is unique in its group, as Config.Name is written, and must never change:
// under another name the projection begins with the first event.
//
// If h also is a [GapHandler] or a [PurgeHandler], it is told of gaps and purges.
func AtLeastOnce(name string, h Handler, opts ...Option) Projection {
	return engine.Define[Projection](name, &atLeastOnce{h}, opts)
}

// Transactional returns a projection whose effects are items of DynamoDB tables, each once. Name is
// that of AtLeastOnce. Each event costs 2 write units for the row beside the items.
func Transactional(name string, h TransactionalHandler, opts ...Option) Projection {
	return engine.Define[Projection](name, &transactional{h}, opts)
}
