package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal"
)

// verify lists the persistence ids, and verifies the stored data of the bank's ids.
func (s *scene) verify(ctx context.Context) error {
	ours := []string{s.ledger.id}
	for _, a := range s.accounts {
		ours = append(ours, a.id)
	}
	slices.Sort(ours)
	var listed []string
	for pid, err := range s.journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
		if err != nil {
			return err
		}
		if slices.Contains(ours, pid) { // an earlier demo may have left others
			listed = append(listed, pid)
		}
	}
	s.screen.say("The entities of the journal are listed, and their items are verified.")
	found := 0
	for _, pid := range ours {
		for finding, err := range s.journal.Verify(ctx, pid, dynajournal.VerifyOptions{}) {
			if err != nil {
				return err
			}
			s.screen.failed(fmt.Errorf("%s: %s at %d: %s", finding.PersistenceID, finding.Kind,
				finding.SequenceNumber, finding.Detail))
			found++
		}
	}
	return errors.Join(
		s.check(slices.Equal(listed, ours), "%d persistence ids are listed, each once, in order", len(listed)),
		s.check(found == 0, "verify finds nothing, after a crash, a lost response, fenced writers and a deletion"),
	)
}
