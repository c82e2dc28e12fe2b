package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// crash kills the process in the middle of two writes, and recovers in another process.
func (s *scene) crash(ctx context.Context) error {
	anna := s.accounts[0]
	acknowledged, events := anna.balance, anna.events
	if err := s.loseAnswer(ctx, anna); err != nil {
		return err
	}
	legs, err := s.cutTransfer(ctx)
	if err != nil {
		return err
	}
	s.screen.say("The process is killed here. Its state, its writers and its connections are gone.")
	died := s.network
	died.die()
	if err := s.journal.Close(); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}

	s.screen.say("Another process starts, and recovers everything from the journal.")
	if err := s.start(ctx, dynajournal.GroupCommitAuto); err != nil {
		return err
	}
	unharmed := 0
	for i, before := range s.accounts {
		after, err := recoverAccount(ctx, s.journal, before.id)
		if err != nil {
			return err
		}
		s.accounts[i] = after
		if after.balance == before.balance && after.events == before.events {
			unharmed++
		}
	}
	anna = s.accounts[0]
	s.spent(fmt.Sprintf("recover an entity with %d events", anna.events), anna.writer.RecoveryCost())
	if s.ledger, err = recoverLedger(ctx, s.journal, s.ledger.id); err != nil {
		return err
	}
	s.spent("recover the ledger after the crash", s.ledger.writer.RecoveryCost())
	const lost = 1_00
	return errors.Join(
		s.check(anna.balance == acknowledged+lost && anna.events == events+1,
			"%s has %s: everything acknowledged, and the deposit whose response was lost", anna.id,
			money(anna.balance)),
		s.check(unharmed == len(s.accounts)-1, "the other %d accounts are unchanged", unharmed),
		s.check(s.ledger.legs == legs && s.ledger.sum() == 0,
			"nothing of the half-written transfer is visible: %d bookings, which add up to %s", legs,
			money(s.ledger.sum())),
		s.arriveLate(ctx, died),
	)
}

// loseAnswer makes a deposit whose response is lost.
func (s *scene) loseAnswer(ctx context.Context, a *account) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	s.network.decide(func(p put) outcome {
		if !strings.Contains(p.partition, a.id) {
			return delivered
		}
		giveUp()
		return answerLost
	})
	defer s.network.decide(nil)
	s.screen.say("%s deposits 1.00. The event is stored, but the response gets lost:", a.id)
	const lost = 1_00
	_, err := a.move(ctx, lost)
	if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		return fmt.Errorf("unexpected result of the lost response: %w", orNone(err))
	}
	s.screen.failed(err)
	return nil
}

// cutTransfer books two transfers. Of a third one, only one leg reaches the engine. It returns the
// number of acknowledged legs.
func (s *scene) cutTransfer(ctx context.Context) (int, error) {
	l, err := recoverLedger(ctx, s.journal, "ledger"+s.idSuffix)
	if err != nil {
		return 0, err
	}
	s.ledger = l
	for _, t := range []transfer{{"anna", "boris", 10_00}, {"boris", "clara", 5_00}} {
		written, err := l.book(ctx, t)
		if err != nil {
			return 0, fmt.Errorf("book a transfer: %w", err)
		}
		if t.from == "boris" {
			s.spent("persist a transfer, 2 events as one", written.Cost)
		}
	}
	next, err := l.writer.NextSequenceNumber(ctx)
	if err != nil {
		return 0, fmt.Errorf("book a transfer: %w", err)
	}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	arrived, blocked := make(chan struct{}), make(chan struct{})
	s.network.decide(func(p put) outcome {
		if p.number == next {
			close(blocked)
			return blockedRequest
		}
		close(arrived)
		return answerLost
	})
	go func() {
		<-blocked
		<-arrived
		giveUp()
	}()
	s.screen.say("A transfer of 7.00 is written. One of its two events is stored, the other is still in flight:")
	_, err = l.book(ctx, transfer{"clara", "anna", 7_00})
	if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		return 0, fmt.Errorf("unexpected result of the half-written transfer: %w", orNone(err))
	}
	s.screen.failed(err)
	return l.legs, nil
}

// arriveLate delivers the event that was in flight when the process crashed.
func (s *scene) arriveLate(ctx context.Context, died *network) error {
	s.screen.say("Now the event that was in flight arrives, from the crashed process:")
	kind, err := died.deliverLate()
	if err != nil {
		return err
	}
	s.screen.failed(fmt.Errorf("the engine answers %s", kind))
	again, err := recoverLedger(ctx, s.journal, s.ledger.id)
	if err != nil {
		return err
	}
	s.ledger = again
	return s.check(kind == "ConditionalCheckFailedException" && again.sum() == 0,
		"it is refused, because the recovery has sealed its number: what a recovery has read stays true")
}

var errNone = errors.New("no error")

// orNone replaces a missing error by errNone.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
