package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// balanceSheet is a read model: the total balance of all accounts.
type balanceSheet struct {
	mu      sync.Mutex
	sum     int64
	events  int
	handled map[string]int64
}

// Handle adds an event. An event that is delivered again, for example after a crash, changes
// nothing.
func (b *balanceSheet) Handle(ctx context.Context, e dynajournal.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.SequenceNumber <= b.handled[e.PersistenceID] {
		return nil
	}
	one := account{id: e.PersistenceID}
	if err := one.apply(ctx, e); err != nil {
		return err
	}
	b.sum, b.events, b.handled[e.PersistenceID] = b.sum+one.balance, b.events+1, e.SequenceNumber
	return nil
}

func (b *balanceSheet) read() (sum int64, events int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum, b.events
}

// project runs a projection of all accounts. It catches up with the stored events, follows a new
// one, and continues in another process.
func (s *scene) project(ctx context.Context) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accounts, want, err := s.recoverAccounts(ctx)
	if err != nil {
		return err
	}
	sheet := &balanceSheet{handled: map[string]int64{}}
	var cost dynajournal.Cost
	err = s.projected(ctx, sheet, &cost, func() error {
		for _, a := range accounts {
			if err := projection.WaitFor(ctx, s.journal, s.sheetName(), a.id, int64(a.events)); err != nil {
				return fmt.Errorf("wait for the projection: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sum, events := sheet.read()
	s.spent(fmt.Sprintf("project %d events of %d accounts", events, len(accounts)), cost)
	s.screen.say("A projection reads the events of all accounts, and computes their total balance. Then its " +
		"process stops, an account gets 5.00, and another process continues.")
	deposit, err := accounts[0].move(ctx, 5_00)
	if err != nil {
		return fmt.Errorf("deposit: %w", err)
	}
	s.accounts[slices.IndexFunc(s.accounts, func(a *account) bool { return a.id == accounts[0].id })] = accounts[0]
	next := &balanceSheet{sum: sum, handled: map[string]int64{}}
	err = s.projected(ctx, next, nil, func() error {
		return projection.WaitFor(ctx, s.journal, s.sheetName(), accounts[0].id, int64(accounts[0].events))
	})
	if err != nil {
		return fmt.Errorf("wait for the deposit: %w", err)
	}
	nextSum, nextEvents := next.read()
	return errors.Join(
		s.check(sum == want.balance && events == want.events,
			"it has handled %d events, each once; its total is %s, as in the accounts", events, money(sum)),
		s.check(nextEvents == 1 && nextSum == want.balance+5_00,
			"the other process gets only the new event; its total is %s", money(nextSum)),
		s.check(deposit.Requests == 1 && deposit.WriteUnits == 1,
			"the deposit costs one request and one write unit, as without a projection"),
	)
}

// recoverAccounts recovers all accounts, and returns them with their total balance and number of
// events.
func (s *scene) recoverAccounts(ctx context.Context) (all []*account, together account, err error) {
	for _, known := range s.accounts {
		a, err := recoverAccount(ctx, s.journal, known.id)
		if err != nil {
			return nil, together, err
		}
		all = append(all, a)
		together.balance += a.balance
		together.events += a.events
	}
	return all, together, nil
}

// sheetName is the name of the projection. Each run of the demo has its own.
func (s *scene) sheetName() string { return "bank" + s.idSuffix + "/balance-sheet" }

// projected runs the projection, as in its own process, while the function while runs. It adds the
// cost of the projection's requests to cost, unless that is nil.
func (s *scene) projected(
	ctx context.Context, sheet *balanceSheet, cost *dynajournal.Cost, while func() error,
) (err error) {
	var mu sync.Mutex
	count := func(_ context.Context, r dynajournal.Request) {
		mu.Lock()
		defer mu.Unlock()
		if cost != nil {
			*cost = cost.Add(r.Cost)
		}
	}
	journal, err := dynajournal.Open(ctx, dynajournal.Config{
		AWS: s.engine, Serialization: s.registry, Hooks: []dynajournal.Hook{{OnRequest: count}},
	})
	if err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	var ids []string
	for _, a := range s.accounts {
		ids = append(ids, a.id)
	}
	group, err := projection.New(journal, projection.Config{
		Name:   "bank" + s.idSuffix,
		Source: projection.Streams(dynamodbstreams.NewFromConfig(s.engine), projection.StreamsOptions{}),
	}, projection.AtLeastOnce("balance-sheet", sheet, projection.OnlyIDs(ids...)))
	if err != nil {
		return fmt.Errorf("create the projection: %w", err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(running) }()
	err = while()
	stop()
	return errors.Join(err, <-ended)
}
