package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// RecoverOptions say what a recovery replays. The zero value is everything.
type RecoverOptions struct {
	// After is the sequence number of the snapshot that the state was loaded from: replay begins
	// behind it. 0 is no snapshot. One that lies beyond the journal's highest sequence number (the
	// journal was lost, or restored separately) is taken for the truth: the writer goes on after
	// it.
	After int64
	// To is the last sequence number to replay; 0 is the last there is. An atomic write that it
	// cuts is not replayed.
	To int64
	// Limit is how many events to replay at most; nil is no limit, 0 replays none. An atomic write
	// that it cuts is not replayed, nor anything behind it.
	Limit *int64
}

// Recover replays the events of a persistence id to the handler, in order, each once, and then
// hands out the Writer that goes on from there. A nil handler replays nothing.
//
// Before it returns, Recover closes the past: every sequence number up to the highest that is not
// taken is sealed, so that no write of an earlier writer that is still under way can appear below
// what the new writer is going to write. It does so whatever part was to be replayed. Two writers
// for one id can exist; only one of them can write, the other gets ErrWriterConflict and recovers
// again.
//
// Any number of recoveries may be started at once: as many as Config.MaxConnections begin, the
// others wait their turn, with hardly any memory, until their context ends. The handler may recover
// other persistence ids; nobody waits for it meanwhile.
//
// Recover ends with the first error of the handler, which it returns. Other errors:
// ErrInvalidArgument, ErrCorruptItem, ErrDeletedMeanwhile, ErrClosed, and those of any request.
func (j *Journal) Recover(ctx context.Context, persistenceID string, opts RecoverOptions, handler func(Event) error) (*Writer, error) {
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
func (j *Journal) recoverRequest(pid string, opts *RecoverOptions, handler func(Event) error) (*protocol.Request, error) {
	window := Range{To: opts.To, Limit: opts.Limit}
	if handler == nil {
		window.Limit = new(int64(0))
	}
	req, _, err := window.request(pid, "RecoverOptions")
	if err == nil && (opts.After < 0 || opts.After > MaxSequenceNumber) {
		err = &ArgumentError{"RecoverOptions.After", opts.After, fmt.Sprintf("it must be from 0 to %d", MaxSequenceNumber)}
	}
	if err == nil {
		err = j.checkID(pid)
	}
	req.From, req.Recover = opts.After+1, true
	return &req, err
}
