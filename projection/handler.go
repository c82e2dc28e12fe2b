package projection

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Handler handles events, each at least once. It gets the events of one persistence id one at a
// time and in order, and events of different persistence ids concurrently. It must return when ctx
// ends, which is at the latest a third of Config.ClaimTimeout after the call. After an error or a
// panic, the group calls it again later with the same event, and with the events after it.
//
// A Handler may also implement [BatchHandler], [GapHandler] and [PurgeHandler].
type Handler interface {
	// Handle handles an event. Events that the journal's adapter makes of one stored event are
	// retried together. Return [Delayed] for temporary failures.
	Handle(ctx context.Context, event dynajournal.Event) error
}

// HandlerFunc is a Handler that is a function.
type HandlerFunc func(ctx context.Context, event dynajournal.Event) error

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, event dynajournal.Event) error { return f(ctx, event) }

// Gap is a range of sequence numbers that were deleted before the projection read them. Some of
// them may never have had an event.
type Gap struct {
	PersistenceID string
	// First and Last are the first and the last number of the range.
	First, Last int64
}

// GapHandler is implemented by handlers that need to know about gaps. Other handlers continue after
// a gap without a call.
type GapHandler interface {
	// HandleGap is called in the order of the events, and retried like Handle.
	HandleGap(ctx context.Context, gap Gap) error
}

// Purge reports that a persistence id was purged. It may be used again. A journal that was restored
// from a backup older than the projection is also reported as a Purge.
type Purge struct {
	PersistenceID string
	// Offset is the number up to which events had been handled.
	Offset int64
	// Last is the highest number that the purge covers: all events up to Last are purged, and the
	// next event has a higher number.
	//
	// Last is below Offset, or both are 0, if numbers are used again: everything was erased with
	// dynajournal.PurgeOptions.Now or in a journal that is shared with a JVM, or an older journal
	// was restored. The next event then has the number Last+1 or a higher one.
	Last int64
}

// PurgeHandler is implemented by handlers that need to know about purges. Other handlers continue
// after a purge without a call.
type PurgeHandler interface {
	// HandlePurge is called in the order of the events, and retried like Handle. A process that is
	// suspended for longer than Config.ClaimTimeout may call it after another process has handled
	// events after the purge. A transactional handler does not have this problem. So store the
	// sequence number with each event's effects, and remove only the effects of events up to
	// purge.Last, or up to purge.Offset if that is higher.
	HandlePurge(ctx context.Context, purge Purge) error
}

// TransactionalHandler returns DynamoDB items for events. The group writes the items of an event
// and the offset in one transaction, so each event has its effect once. The handler may be called
// several times for an event, so it must have no effects of its own. A failed condition of an item
// counts as a failure of the handler.
//
// A TransactionalHandler may also implement [TransactionalGapHandler] and
// [TransactionalPurgeHandler].
type TransactionalHandler interface {
	// Handle returns the items for an event: at most 99 items and 4 MB, each item with another key.
	// If the journal's adapter makes several events of a stored one, the limits apply to all of
	// them together.
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
// or a failure. The name must be unique in its group, follows the rules of Config.Name, and must
// never change: under another name the projection starts with the first event.
//
// If h also implements [GapHandler] or [PurgeHandler], it is called for gaps or purges.
func AtLeastOnce(name string, h Handler, opts ...Option) Projection {
	return engine.Define[Projection](name, &atLeastOnce{h}, opts)
}

// Transactional returns a projection whose effects are items of DynamoDB tables, each written once.
// The name is as for [AtLeastOnce]. Each event costs 2 write units for the row, in addition to the
// items.
func Transactional(name string, h TransactionalHandler, opts ...Option) Projection {
	return engine.Define[Projection](name, &transactional{h}, opts)
}
