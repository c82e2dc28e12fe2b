package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
)

// day is the result of an account in the first step.
type day struct {
	account           *account
	commands, refused int
	cost              dynajournal.Cost
}

// openBank makes several accounts take commands at the same time, each in its own goroutine.
func (s *scene) openBank(ctx context.Context) error {
	names := []string{"anna", "boris", "clara", "dario", "edith", "felix"}
	const commands = 40
	days := make([]day, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() error {
			a, err := recoverAccount(groupCtx, s.journal, "account-"+name+s.idSuffix)
			if err != nil {
				return err
			}
			//nolint:gosec // a demo, the same in each run
			random := rand.New(rand.NewPCG(1, uint64(i)))
			days[i], err = spend(groupCtx, a, commands, random)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var rows [][]string
	var total dynajournal.Cost
	events, stored := 0, 0
	same := true
	for _, d := range days {
		rows = append(rows, []string{d.account.id, fmt.Sprint(d.commands), fmt.Sprint(d.refused),
			fmt.Sprint(d.account.events), money(d.account.balance)})
		total = total.Add(d.cost)
		events += d.account.events
		read := &account{id: d.account.id}
		for e, err := range s.journal.Events(ctx, d.account.id, dynajournal.Range{}) {
			if err == nil {
				err = read.apply(ctx, e)
			}
			if err != nil {
				return err
			}
			stored++
		}
		same = same && read.balance == d.account.balance
		s.accounts = append(s.accounts, d.account)
	}
	s.screen.table([]string{"entity", "commands", "refused", "events", "balance"}, rows)
	s.spent("recover an entity that has no events", days[0].account.writer.RecoveryCost())
	s.spent(fmt.Sprintf("persist %d events, one by one", events), total)
	return errors.Join(
		s.check(stored == events && same,
			"the journal has the %d events of all acknowledged commands, and nothing of refused ones", events),
		s.check(total.Requests == events, "an event costs one request"),
		s.check(total.WriteUnits == float64(events+len(names)),
			"and one write unit; the first event of an entity costs one more, for the list of entities"),
	)
}

// spend executes random commands of an account, which must not be overdrawn.
func spend(ctx context.Context, a *account, commands int, random *rand.Rand) (day, error) {
	d := day{account: a, commands: commands}
	const most = 100_00
	for range commands {
		cost, err := a.move(ctx, random.Int64N(most+most)-most)
		d.cost = d.cost.Add(cost)
		switch {
		case errors.Is(err, errOverdrawn):
			d.refused++
		case err != nil:
			return d, err
		}
	}
	return d, nil
}
