package core

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// Writer appends events to a persistence id, and deletes them. It is safe for concurrent use. A
// copy is the same writer.
type Writer struct {
	journal *Journal
	state   *protocol.Writer
}

// Result is the result of an append.
type Result struct {
	// First and Last are the sequence numbers of the first and the last event.
	First, Last int64
	Cost        dynamo.Cost
}

// Removed is the result of a deletion. After an error it describes the part that was done.
type Removed struct {
	// Count is the number of removed sequence numbers. A purge also counts removed snapshots.
	Count int64
	// Lowest is the lowest number that is not deleted. It is 0 after a purge.
	Lowest int64
	Cost   dynamo.Cost
}

// PersistenceID returns the persistence id of the writer.
func (w *Writer) PersistenceID() string { return w.state.PersistenceID() }

// UUID returns the UUID that is stored in every event of the writer.
func (w *Writer) UUID() string { return w.state.UUID() }

// RecoveryCost returns the cost of the recovery that returned the writer.
func (w *Writer) RecoveryCost() dynamo.Cost { return w.state.RecoveryCost() }

// DeletedTo returns the last sequence number that was deleted when the writer recovered, or 0.
func (w *Writer) DeletedTo() int64 { return w.state.DeletedTo() }

// Err returns the reason why the writer has ended, or nil while it may write.
func (w *Writer) Err() error {
	if err := w.state.Err(); err != nil {
		return w.journal.PublicError(err)
	}
	return context.Cause(w.journal.Life.Reading())
}

// Next returns the sequence number of the next event. It waits for the calls in flight.
func (w *Writer) Next(ctx context.Context) (int64, error) { return inTurn(ctx, w, w.state.Next) }

// Last returns the sequence number of the last visible event, or 0 if there is no visible event
// since the last purge. It waits for the calls in flight.
func (w *Writer) Last(ctx context.Context) (int64, error) { return inTurn(ctx, w, w.state.Last) }

// LowMark returns the low mark that the writer has read or put last. It waits for the calls in
// flight.
func (w *Writer) LowMark(ctx context.Context) (layout.LowMark, error) {
	return inTurn(ctx, w, w.state.LowMark)
}

// inTurn calls get in the writer's turn.
func inTurn[T any](ctx context.Context, w *Writer, get func() T) (T, error) {
	if err := w.state.Enter(ctx); err != nil {
		var none T
		return none, w.journal.PublicError(err)
	}
	defer w.state.Leave()
	return get(), nil
}

// Encode returns the stored form of an event, without its number. index is its index in the call.
func (w *Writer) Encode(ctx context.Context, e *New, index int) (*layout.Event, error) {
	return w.journal.Encode(ctx, w.PersistenceID(), e, index)
}

// Append writes events as one atomic write. index is the index of its first event in the call.
func (w *Writer) Append(ctx context.Context, events []*layout.Event, index int) (Result, error) {
	return w.observed(ctx, len(events), func() (Result, error) {
		if err := w.state.Enter(ctx); err != nil {
			return Result{}, w.journal.PublicError(err)
		}
		return w.write(ctx, events, index)
	})
}

// AppendAt appends under the condition that the last visible event has the sequence number last.
func (w *Writer) AppendAt(ctx context.Context, last int64, events []*layout.Event) (Result, error) {
	return w.observed(ctx, len(events), func() (Result, error) {
		if err := w.state.Enter(ctx); err != nil {
			return Result{}, w.journal.PublicError(err)
		}
		if err := w.state.CheckLast(last); err != nil {
			w.state.Leave()
			return Result{}, w.journal.PublicError(err)
		}
		return w.write(ctx, events, 0)
	})
}

// Rejected reports an append whose events can't be encoded to Options.OnOperation.
func (w *Writer) Rejected(ctx context.Context, events int, err error) {
	o := w.journal.observe(OperationAppend, w.PersistenceID())
	o.end(ctx, int64(events), dynamo.Cost{}, err)
}

// observed reports an append to Options.OnOperation.
func (w *Writer) observed(ctx context.Context, events int, write func() (Result, error)) (Result, error) {
	o := w.journal.observe(OperationAppend, w.PersistenceID())
	result, err := write()
	o.end(ctx, int64(events), result.Cost, err)
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// write appends for a caller that has entered the writer. It leaves the writer.
func (w *Writer) write(ctx context.Context, events []*layout.Event, index int) (Result, error) {
	m := &dynamo.Meter{}
	if err := w.state.Append(w.journal.Client.For(ctx, dynamo.ForAppend), m, events, index); err != nil {
		return Result{Cost: m.Cost()}, w.journal.PublicError(err)
	}
	return Result{events[0].SequenceNr, events[len(events)-1].SequenceNr, m.Cost()}, nil
}

// Started is an append in progress. It must not be used concurrently.
type Started struct {
	write   *protocol.AtomicWrite
	journal *Journal
	meter   dynamo.Meter
	events  []*layout.Event
	seen    observation
	// ctx is the context of Start, with the purpose of the requests.
	ctx context.Context //nolint:containedctx // Finish continues what Start has started
}

// Start starts an append without waiting. It returns nil if Append would fail, or might wait for
// another call or another request. Then nothing is written.
func (w *Writer) Start(ctx context.Context, events []*layout.Event) *Started {
	if !w.state.TryEnter() {
		return nil
	}
	s := &Started{
		journal: w.journal, events: events, seen: w.journal.observe(OperationAppend, w.PersistenceID()),
		ctx: w.journal.Client.For(ctx, dynamo.ForAppend),
	}
	if s.write = w.state.Start(s.ctx, &s.meter, events); s.write == nil {
		w.state.Leave()
		return nil
	}
	return s
}

// Done returns a channel that is closed when the events have their outcomes.
func (s *Started) Done() <-chan struct{} { return s.write.Done() }

// Succeeded reports whether all events are stored. Then Finish does not wait.
func (s *Started) Succeeded() bool { return s.write.Succeeded() }

// Finish completes the append. It must be called once.
func (s *Started) Finish() (Result, error) {
	err := s.write.Finish(s.ctx)
	if err != nil {
		err = s.journal.PublicError(err)
	}
	s.seen.end(s.ctx, int64(len(s.events)), s.meter.Cost(), err)
	if err != nil {
		return Result{}, err
	}
	return Result{s.events[0].SequenceNr, s.events[len(s.events)-1].SequenceNr, s.meter.Cost()}, nil
}

// CloseNext seals the next sequence number, so that no write of an earlier writer that is still in
// flight can take it. It reports false if the number is taken. Then the writer has ended.
func (w *Writer) CloseNext(ctx context.Context) (bool, error) {
	closed := false
	_, err := w.remove(ctx, dynamo.ForAppend, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		closed, err = w.state.CloseNext(ctx, m)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("seal the next number of %q: %w", w.PersistenceID(), err)
	}
	return closed, nil
}

// DeleteTo deletes all events up to a sequence number. covered reports that a saved snapshot, at
// that number or a later one, contains the deleted events.
func (w *Writer) DeleteTo(ctx context.Context, to int64, covered bool) (Removed, error) {
	var r Removed
	var err error
	o := w.journal.observe(OperationDelete, w.PersistenceID())
	defer func() { o.end(ctx, r.Count, r.Cost, err) }()
	r.Cost, err = w.remove(ctx, dynamo.ForDelete, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		r.Count, err = w.state.DeleteTo(ctx, m, to, covered)
		r.Lowest = w.state.Lowest()
		if err != nil {
			return fmt.Errorf("delete events of %q to %d: %w", w.PersistenceID(), to, w.journal.InTable(w.journal.Table, err))
		}
		return nil
	})
	return r, err
}

// Purge removes the snapshots, the events and the marks of the persistence id, and ends the writer.
// With now it removes every item at once.
func (w *Writer) Purge(ctx context.Context, now bool) (Removed, error) {
	var r Removed
	var err error
	o := w.journal.observe(OperationPurge, w.PersistenceID())
	defer func() { o.end(ctx, r.Count, r.Cost, err) }()
	r.Cost, err = w.remove(ctx, dynamo.ForPurge, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		if r.Count, err = w.state.Purge(ctx, m, now); err != nil {
			return fmt.Errorf("purge %q: %w", w.PersistenceID(), w.journal.InTable(w.journal.Table, err))
		}
		return nil
	})
	return r, err
}

// remove runs a deletion in the writer's turn, and returns its cost. The deletion ends when ctx
// ends or the journal is closed.
func (w *Writer) remove(
	ctx context.Context, purpose dynamo.Purpose, do func(context.Context, *dynamo.Meter) error,
) (dynamo.Cost, error) {
	var m dynamo.Meter
	err := w.journal.Operate(ctx, purpose, func(ctx context.Context, _ *lifetime.Operation) error {
		if err := w.state.Turn.Enter(ctx); err != nil {
			return w.journal.PublicError(err)
		}
		defer w.state.Turn.Leave()
		return m.Mark(do(ctx, &m))
	})
	return m.Cost(), err
}
