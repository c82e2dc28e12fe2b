package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// RecoverOptions are the options of Recover. The zero value replays everything.
type RecoverOptions struct {
	// After is the sequence number of the snapshot from which the state was loaded: replay begins
	// after it. If it is above the journal's highest sequence number (the journal was lost, or
	// restored separately), the writer goes on after it.
	//
	// Defaults to no snapshot.
	After int64

	// Limit is the largest number of events to replay; 0 replays none. If it cuts an atomic write,
	// replay ends before that write.
	//
	// Defaults to no limit.
	Limit *int64

	// To is the last sequence number to replay. If it cuts an atomic write, replay ends before that
	// write.
	//
	// Defaults to the highest there is.
	To int64
}

// Recover replays the events of a persistence id to handler, in order, each once, and then returns
// the Writer that goes on behind them. A nil handler replays nothing.
//
// Before it returns, Recover seals every missing sequence number up to the highest, whatever part
// was replayed. So no event of an earlier writer whose request is still in flight can appear below
// the events of the new writer. A persistence id can have several writers; only one of them can
// write, and the others get [ErrWriterConflict].
//
// Many recoveries may run at the same time. Config.MaxConnections of them begin, and the others
// wait, for as long as their context allows, with little memory. handler may use the journal, also
// to recover other persistence ids.
//
// Recover ends with the first error of handler, and returns it. Other errors: [ErrInvalidArgument],
// [ErrCorruptItem], [ErrHole], [ErrDeletedMeanwhile], [ErrTooLate], [ErrClosed], and those of
// requests. After any error Recover may be repeated.
func (j *Journal) Recover(
	ctx context.Context, persistenceID string, opts RecoverOptions, handler func(Event) error,
) (*Writer, error) {
	req, err := j.recoverRequest(persistenceID, &opts, handler)
	if err != nil {
		return nil, err
	}
	var w *Writer
	err = j.admit(ctx, func(ctx context.Context, op *lifetime.Operation, begun func()) error {
		req.Begun = begun
		state, err := j.protocol.Recover(ctx, req, func(e *layout.Event) error {
			return op.Outside(func() error { return j.deliver(e, handler) })
		})
		w = &Writer{j, state}
		return itemError(j.config.JournalTable, err)
	})
	if err != nil {
		return nil, fmt.Errorf("recover %q: %w", persistenceID, err)
	}
	return w, nil
}

// recoverRequest checks the arguments of Recover, and returns what to read.
func (j *Journal) recoverRequest(
	pid string, opts *RecoverOptions, handler func(Event) error,
) (*protocol.Request, error) {
	window := Range{To: opts.To, Limit: opts.Limit}
	if handler == nil {
		window.Limit = new(int64(0))
	}
	req, _, err := window.request(pid, "RecoverOptions")
	if err == nil && (opts.After < 0 || opts.After > MaxSequenceNumber) {
		reason := fmt.Sprintf("it must be from 0 to %d", MaxSequenceNumber)
		err = &ArgumentError{"RecoverOptions.After", opts.After, reason}
	}
	if err == nil {
		err = j.checkID(pid)
	}
	req.From, req.Recover = opts.After+1, true
	return &req, err
}
