package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// deposited and withdrawn are the events of an account.
type (
	deposited struct {
		Cents int64 `json:"cents"`
	}
	withdrawn struct {
		Cents int64 `json:"cents"`
	}
)

// booked is the event of the ledger: one leg of a transfer. The legs of a transfer add up to zero.
type booked struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

func newRegistry() (*serialization.Registry, error) {
	r := serialization.NewRegistry()
	err := errors.Join(
		serialization.JSON[deposited](r, "bank.Deposited"),
		serialization.JSON[withdrawn](r, "bank.Withdrawn"),
		serialization.JSON[booked](r, "bank.Booked"),
		serialization.JSON[snapshot](r, "bank.Account"),
	)
	if err != nil {
		return nil, fmt.Errorf("register the events and states: %w", err)
	}
	return r, nil
}

// account is an entity. Its state is computed only from its events.
type account struct {
	id      string
	writer  *dynajournal.Writer
	balance int64
	events  int
}

var errOverdrawn = errors.New("the balance is too low")

// recoverAccount rebuilds an account from its events.
func recoverAccount(ctx context.Context, j *dynajournal.Journal, id string) (*account, error) {
	a := &account{id: id}
	var err error
	a.writer, err = j.Recover(ctx, id, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		return a.apply(ctx, e)
	})
	if err != nil {
		return nil, fmt.Errorf("recover the account: %w", err)
	}
	return a, nil
}

// apply applies a stored event to the state.
func (a *account) apply(ctx context.Context, e dynajournal.Event) error {
	payload, err := e.Payload(ctx)
	if err != nil {
		return fmt.Errorf("apply an event: %w", err)
	}
	return a.evolve(payload)
}

func (a *account) evolve(event any) error {
	switch e := event.(type) {
	case deposited:
		a.balance += e.Cents
	case withdrawn:
		a.balance -= e.Cents
	default:
		return fmt.Errorf("%s: unexpected event of type %T", a.id, event)
	}
	a.events++
	return nil
}

// move is the command to deposit, or to withdraw if the amount is negative.
func (a *account) move(ctx context.Context, cents int64) (dynajournal.Cost, error) {
	var event any = deposited{cents}
	if cents < 0 {
		event = withdrawn{-cents}
	}
	if a.balance+cents < 0 {
		return dynajournal.Cost{}, errOverdrawn
	}
	written, err := a.writer.Append(ctx, event)
	if err != nil {
		return written.Cost, err
	}
	return written.Cost, a.evolve(event)
}

// ledger is the entity with all transfers between accounts.
type ledger struct {
	id       string
	writer   *dynajournal.Writer
	balances map[string]int64
	legs     int
}

func recoverLedger(ctx context.Context, j *dynajournal.Journal, id string) (*ledger, error) {
	l := &ledger{id: id, balances: map[string]int64{}}
	var err error
	l.writer, err = j.Recover(ctx, id, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		leg, err := dynajournal.Decode[booked](ctx, e)
		l.evolve(leg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("recover the ledger: %w", err)
	}
	return l, nil
}

func (l *ledger) evolve(leg booked) {
	l.balances[leg.Account] += leg.Cents
	l.legs++
}

// sum returns the sum of all bookings: zero, unless a transfer is stored in part.
func (l *ledger) sum() int64 {
	sum := int64(0)
	for _, cents := range l.balances {
		sum += cents
	}
	return sum
}

// transfer moves an amount from one account to another.
type transfer struct {
	from, to string
	cents    int64
}

// book records transfers in one atomic write.
func (l *ledger) book(ctx context.Context, transfers ...transfer) (dynajournal.AppendResult, error) {
	legs := make([]any, 0, len(transfers)+len(transfers))
	for _, t := range transfers {
		legs = append(legs, booked{t.from, -t.cents}, booked{t.to, t.cents})
	}
	written, err := l.writer.Append(ctx, legs...)
	if err != nil {
		return written, err
	}
	for _, leg := range legs {
		if leg, ok := leg.(booked); ok {
			l.evolve(leg)
		}
	}
	return written, nil
}

// money formats cents.
func money(cents int64) string {
	const inUnit = 100
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/inUnit, cents%inUnit)
}
