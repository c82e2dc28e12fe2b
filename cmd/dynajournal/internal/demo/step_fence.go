package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dynajournal/dynajournal"
)

// fence makes several writers write to one account.
func (s *scene) fence(ctx context.Context) error {
	first := s.accounts[1]
	second, err := recoverAccount(ctx, s.journal, first.id)
	if err != nil {
		return err
	}
	events := first.events
	s.screen.say("%s is recovered a second time, as after a network partition. The second writer writes:", first.id)
	if _, err := second.move(ctx, 1_00); err != nil {
		return fmt.Errorf("the second writer: %w", err)
	}
	s.screen.say("Then the first writer, which does not know about the second, writes:")
	_, err = first.move(ctx, 2_00)
	if !errors.Is(err, dynajournal.ErrWriterConflict) {
		return fmt.Errorf("the first writer: %w", orNone(err))
	}
	s.screen.failed(err)
	stored, err := count(ctx, s.journal, first.id, dynajournal.Range{})
	if err != nil {
		return err
	}
	if err := s.check(stored == events+1, "it gets a conflict, and its event is not stored"); err != nil {
		return err
	}
	const writers = 10
	s.screen.say("Now %d writers are recovered, and write at the same time:", writers)
	won, fenced, err := writeTogether(ctx, s.journal, first.id, writers)
	if err != nil {
		return err
	}
	last, err := recoverAccount(ctx, s.journal, first.id)
	if err != nil {
		return err
	}
	s.accounts[1] = last
	return errors.Join(
		s.check(won == 1 && fenced == writers-1, "%d writer has written, %d are fenced", won, fenced),
		s.check(last.events == events+2 && last.balance == second.balance+1,
			"the journal has exactly the acknowledged events: %d events, balance %s", last.events, money(last.balance)),
	)
}

// writeTogether makes several writers of one id deposit a cent each, at the same time. It counts
// the writers that succeed and the writers that are fenced.
func writeTogether(ctx context.Context, j *dynajournal.Journal, id string, writers int) (won, fenced int, err error) {
	entities := make([]*account, writers)
	for i := range entities {
		if entities[i], err = recoverAccount(ctx, j, id); err != nil {
			return 0, 0, err
		}
	}
	results := make([]error, writers)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i, a := range entities {
		group.Go(func() {
			<-start
			_, results[i] = a.move(ctx, 1)
		})
	}
	close(start)
	group.Wait()
	for _, result := range results {
		switch {
		case result == nil:
			won++
		case errors.Is(result, dynajournal.ErrWriterConflict):
			fenced++
		default:
			err = errors.Join(err, result)
		}
	}
	return won, fenced, err
}
