package dynajournal

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// startedAppend is an Append of a host of entities whose request has begun. See
// private.StartAppend.
type startedAppend struct {
	write  *protocol.AtomicWrite
	meter  dynamo.Meter
	events []*layout.Event
}

// startAppend begins Append without a wait. It returns nil if Append may have to wait for another
// call or another request, or has an error; nothing is written then.
func (w *Writer) startAppend(ctx context.Context, events []any) private.StartedAppend {
	encoded, err := w.encodeAll(ctx, events)
	if err != nil {
		return nil
	}
	if !w.state.TryEnter() {
		return nil
	}
	s := &startedAppend{events: encoded}
	if s.write = w.state.Start(ctx, &s.meter, encoded); s.write == nil {
		w.state.Leave()
		return nil
	}
	return s
}

// Done returns a channel that is closed when the events have their outcomes.
func (s *startedAppend) Done() <-chan struct{} { return s.write.Done() }

// Succeeded reports whether all events are stored, and Finish is going to return at once.
func (s *startedAppend) Succeeded() bool { return s.write.Succeeded() }

// Finish is the rest of Append.
func (s *startedAppend) Finish(ctx context.Context) (first, last int64, cost dynamo.Cost, err error) {
	if err := s.write.Finish(ctx); err != nil {
		return 0, 0, dynamo.Cost{}, public(err)
	}
	return s.events[0].SequenceNr, s.events[len(s.events)-1].SequenceNr, s.meter.Cost(), nil
}
