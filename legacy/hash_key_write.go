package legacy

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func (s *hashKey) takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error) {
	for {
		high, err := s.readMarks(ctx, m, highKind, pid)
		if err != nil {
			return 0, err
		}
		mark := max(0, slices.Max(high))
		highest, err := s.beyond(ctx, m, pid, mark)
		if err != nil {
			return 0, err
		}
		for seq := mark + 1; seq <= highest; seq++ {
			if err := s.raise(ctx, m, highKind, pid, seq); err != nil {
				return 0, err
			}
		}
		if snapshot <= highest {
			return highest, nil
		}
		err = s.fence(ctx, m, pid, highest+1)
		// Another writer or an earlier attempt has put the mark.
		if errors.Is(err, dynamo.ErrConditionFailed) {
			continue
		}
		if err == nil {
			err = s.raise(ctx, m, highKind, pid, snapshot)
		}
		return snapshot, err
	}
}

// fence takes the number after the highest, as if an event had been written and removed there. It
// is called before a writer continues after a snapshot beyond that number: an earlier writer that
// puts an event there gets a conflict. It returns dynamo.ErrConditionFailed if another writer was
// first.
func (s *hashKey) fence(ctx context.Context, m *dynamo.Meter, pid string, seq int64) error {
	if err := s.raise(ctx, m, lowKind, pid, seq); err != nil {
		return err
	}
	return s.putMark(ctx, m, highKind, pid, seq)
}

func (s *hashKey) put(ctx context.Context, m *dynamo.Meter, e *newEvent) error {
	ours, err := putEvent(ctx, m, s.client, s.table, attrKey, e)
	if err != nil {
		return err
	}
	err = s.putMark(ctx, m, highKind, e.pid, e.seq)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, dynamo.ErrConditionFailed):
		return unsure(err) // the event is stored, but a reader may not find it yet
	}
	low, lowErr := s.lowMark(ctx, m, e.pid, e.seq)
	switch {
	case lowErr != nil:
		return unsure(lowErr)
	case low >= e.seq: // the number had been written and removed, or is being removed
		return s.takeBack(ctx, m, e)
	case !ours: // another writer may have put the same event and its mark
		return unsure(err)
	}
	return nil // an earlier attempt has put the mark, or a recovery that has found the event
}

// takeBack removes an event that was put at a number that had been removed before. No reader uses
// it. If the event was marked as deleted meanwhile, a recovery has taken it over, and it stays.
func (s *hashKey) takeBack(ctx context.Context, m *dynamo.Meter, e *newEvent) error {
	err := s.client.Delete(ctx, m, dynamo.Delete{
		Table:     s.table,
		Key:       s.eventKey(e.pid, e.seq),
		Condition: attrPayload + " = :payload AND " + attrDeleted + " = :not",
		Values:    dynamo.Attributes{":payload": e.item[attrPayload], ":not": text(notDeleted)},
	})
	if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
		return unsure(err)
	}
	return errTaken
}
