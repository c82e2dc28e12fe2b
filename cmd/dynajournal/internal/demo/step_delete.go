package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// deleteOld deletes the first events of the ledger.
func (s *scene) deleteOld(ctx context.Context) error {
	l := s.ledger
	before, err := s.journal.Bounds(ctx, l.id)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	const to = partition / 2
	s.screen.say("The events of the ledger up to %d are deleted.", to)
	deleted, err := l.writer.DeleteTo(ctx, to)
	if err != nil {
		return fmt.Errorf("delete events: %w", err)
	}
	s.spent(fmt.Sprintf("delete %d events", deleted.Removed), deleted.Cost)
	after, err := s.journal.Bounds(ctx, l.id)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	rest, err := count(ctx, s.journal, l.id, dynajournal.Range{})
	if err != nil {
		return err
	}
	written, err := l.book(ctx, transfer{"anna", "boris", 1_00})
	if err != nil {
		return fmt.Errorf("book a transfer: %w", err)
	}
	return errors.Join(
		s.check(after.Lowest == to+1 && rest == int(before.Highest)-to,
			"%d events are left; the first is %d, although it is in the middle of an atomic write", rest, after.Lowest),
		s.check(after.Highest == before.Highest, "the highest sequence number is %d, as before", after.Highest),
		s.check(written.First == before.Highest+1, "the next event gets number %d", written.First),
	)
}
