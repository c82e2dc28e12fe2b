package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// partition is the number of sequence numbers in a partition of the table.
const partition = 100

// transfers writes many transfers as one atomic write, and then a transfer whose events are in two
// partitions.
func (s *scene) transfers(ctx context.Context) error {
	l := s.ledger
	next, err := l.writer.NextSequenceNumber(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	names := []string{"anna", "boris", "clara", "dario", "edith", "felix"}
	var many []transfer
	for seq := next; seq < partition-1; seq += 2 {
		i := len(many)
		many = append(many, transfer{names[i%len(names)], names[(i+1)%len(names)], int64(i+1) * partition})
	}
	s.screen.say("The day's %d transfers, %d events, are one atomic write. Then one more transfer is booked.",
		len(many), 2*len(many))
	written, err := l.book(ctx, many...)
	if err != nil {
		return fmt.Errorf("book the day's transfers: %w", err)
	}
	s.spent(fmt.Sprintf("persist %d transfers, %d events as one", len(many), 2*len(many)), written.Cost)
	across, err := l.book(ctx, transfer{"felix", "anna", 3_00})
	if err != nil {
		return fmt.Errorf("book a transfer: %w", err)
	}
	s.spent("persist a transfer across a border", across.Cost)
	read, err := recoverLedger(ctx, s.journal, l.id)
	if err != nil {
		return err
	}
	s.spent(fmt.Sprintf("recover %d events in two partitions", read.legs), read.writer.RecoveryCost())
	part, err := count(ctx, s.journal, l.id, dynajournal.Range{From: partition})
	if err != nil {
		return err
	}
	listing, err := s.journal.List(ctx, l.id)
	if err != nil {
		return fmt.Errorf("list the ledger: %w", err)
	}
	s.ledger = read
	return errors.Join(
		s.check(across.First == partition-1 && across.Last == partition,
			"its two events have the numbers %d and %d, in two partitions", across.First, across.Last),
		s.check(read.legs == l.legs && read.sum() == 0, "all %d bookings are there and add up to %s", read.legs,
			money(read.sum())),
		s.check(part == 1, "a reader that starts at %d gets the transfer's event with that number", partition),
		s.check(len(listing.HighMarks) == 1 && listing.HighMarks[0] == partition,
			"the high mark is %d, for the next recovery", partition),
	)
}

// count counts the events in a window.
func count(ctx context.Context, j *dynajournal.Journal, id string, window dynajournal.Range) (int, error) {
	n := 0
	for _, err := range j.Events(ctx, id, window) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
