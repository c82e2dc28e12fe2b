package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Start starts an Append without waiting. The caller waits for Done and calls Finish, which may
// happen in another goroutine. Start returns nil if the write needs a request before its events, or
// a high mark, or is rejected. Then nothing has changed, and Append makes the write or returns the
// error.
//
// The caller holds the turn. Finish releases it. If Start returns nil, the caller still holds it.
func (w *Writer) Start(ctx context.Context, m *dynamo.Meter, events []*layout.Event) *AtomicWrite {
	j, last := w.journal, w.next+int64(len(events))-1
	timed := w.timed || !j.Metadata
	if !timed || j.checkAge(w.active) != nil || j.handoverPossible(w.alone) ||
		len(events) > j.MaxBatchEvents || layout.CrossesBlock(w.next, last) {
		return nil
	}
	a, err := w.build(ctx, m, events, 0)
	if err != nil {
		return nil
	}
	a.start(ctx)
	return a
}

// Done returns a channel that is closed when the events of a write that Start has started have
// their outcomes.
func (a *AtomicWrite) Done() <-chan struct{} { return a.members.Done() }

// Succeeded reports whether all events of a write that Start has started are stored. Then Finish
// sends no request, unless a JVM can have taken over since.
func (a *AtomicWrite) Succeeded() bool {
	select {
	case <-a.members.Done():
	default:
		return false
	}
	for _, err := range a.members.Outcomes() {
		if err != nil {
			return false
		}
	}
	return !a.writer.journal.handoverPossible(a.alone)
}
