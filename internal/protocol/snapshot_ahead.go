package protocol

import (
	"context"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// replayAfterSnapshot replays after the snapshot of a request. It fails with a *SnapshotAheadError
// if the snapshot is ahead of a journal that was not lost. Before it fails it replays again,
// because another process may write and save at the same time. The first replay has not handed out
// any event then.
func (s *Store) replayAfterSnapshot(
	ctx context.Context, m *dynamo.Meter, req *Request, emit func(*layout.Event) error,
) (Result, error) {
	snapshot := req.From - 1
	for again := false; ; again = true {
		result, err := s.replay(ctx, m, req, emit)
		highest := max(result.Highest, result.Marks.Low.Seq-1)
		if err != nil || highest >= snapshot {
			return result, err
		}
		if !req.Recover { // it has read nothing below the snapshot
			if _, highest, err = s.Bounds(ctx, m, req.PersistenceID); err != nil {
				return Result{}, err
			}
		}
		older, err := s.isOlder(ctx, m, req.PersistenceID, snapshot, highest)
		if err != nil || !older {
			return result, err
		}
		if again {
			return Result{}, &SnapshotAheadError{req.PersistenceID, snapshot, highest}
		}
	}
}

// isOlder reports whether a journal that ends at highest is older than a snapshot. If the last
// number has the fence of a recovery after the same snapshot, that recovery has decided to continue
// after it.
//
// In a shared journal only an event shows that the journal is older. A purge leaves nothing there,
// and two JVMs that delete at the same time can leave a low mark below the snapshot, but no events.
func (s *Store) isOlder(ctx context.Context, m *dynamo.Meter, pid string, snapshot, highest int64) (bool, error) {
	if highest >= snapshot {
		return false, nil
	}
	if highest < 1 {
		return !s.Shared(), nil // there is no fence
	}
	slots, err := s.Span(ctx, m, pid, highest, highest)
	if err != nil {
		return false, err
	}
	if len(slots) > 0 && slots[0].Low == snapshot+1 {
		return false, nil
	}
	if !s.Shared() {
		return true, nil
	}
	event := false
	one := Request{PersistenceID: pid, From: max(highest-MaxHole, 1), To: highest, Limit: 1}
	_, err = s.Replay(ctx, m, one, func(*layout.Event) error {
		event = true
		return nil
	})
	return event, err
}
