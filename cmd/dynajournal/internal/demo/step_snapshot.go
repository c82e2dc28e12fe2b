package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// snapshot is the stored state of an account.
type snapshot struct {
	Balance int64 `json:"balance"`
	Events  int   `json:"events"`
}

// saveState saves a snapshot of an account, and recovers the account from it.
func (s *scene) saveState(ctx context.Context) error {
	a := s.accounts[0]
	saved := dynajournal.SnapshotMetadata{PersistenceID: a.id, SequenceNumber: int64(a.events)}
	cost, err := s.journal.SaveSnapshot(ctx, saved, snapshot{a.balance, a.events})
	if err != nil {
		return fmt.Errorf("save a snapshot: %w", err)
	}
	s.spent("save a snapshot", cost)
	s.screen.say("The state of %s after %d events is saved. Then three more deposits are made.", a.id, a.events)
	const after = 3
	for range after {
		if _, err := a.move(ctx, 1_00); err != nil {
			return fmt.Errorf("deposit after the snapshot: %w", err)
		}
	}
	s.screen.say("It is recovered: first the snapshot is read, then the events after it.")
	again, replayed, err := s.recoverSaved(ctx, a.id)
	if err != nil {
		return err
	}
	s.accounts[0] = again
	return errors.Join(
		s.check(replayed == after, "of its %d events, %d were replayed", again.events, replayed),
		s.check(again.balance == a.balance && again.events == a.events, "its balance is %s, as before",
			money(again.balance)),
	)
}

// recoverSaved recovers an account from its newest snapshot, in two round trips: one request for
// the snapshot, and two concurrent requests for the rest. To prove that, both must be in flight
// before either is sent. It returns the number of replayed events.
func (s *scene) recoverSaved(ctx context.Context, id string) (*account, int, error) {
	const alone, together, patience = 1, 2, 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.network.assemble(alone)
	loaded, found, err := s.journal.LoadSnapshot(ctx, id, dynajournal.SnapshotCriteria{})
	if err != nil {
		return nil, 0, fmt.Errorf("load the snapshot: %w", err)
	}
	if !found {
		return nil, 0, fmt.Errorf("%s has no snapshot", id)
	}
	state, err := dynajournal.DecodeState[snapshot](ctx, loaded)
	if err != nil {
		return nil, 0, err
	}
	a, replayed := &account{id: id, balance: state.Balance, events: state.Events}, 0
	requests := s.network.assemble(together)
	a.writer, err = s.journal.Recover(ctx, id, dynajournal.RecoverOptions{Snapshot: loaded.SequenceNumber},
		func(e dynajournal.Event) error {
			replayed++
			return a.apply(ctx, e)
		})
	if err != nil {
		return nil, 0, fmt.Errorf("recover the account after its snapshot: %w", err)
	}
	requests += s.network.assemble(0)
	s.spent("recover the events after a snapshot", a.writer.RecoveryCost())
	return a, replayed, s.check(requests == alone+together, "this takes two round trips, of %d and %d requests",
		alone, together)
}
