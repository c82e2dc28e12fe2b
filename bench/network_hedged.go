package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dynajournal/dynajournal"
)

// tailCallers is how many entities recover at the same time where the tail is compared.
const tailCallers = 8

// recoverHedged compares recoveries of small entities with hedged reads and without, as what they
// are for is the tail.
func recoverHedged(ctx context.Context, s *session) (err error) {
	const events, entities = 5, 64
	pids := names(s.workload, entities)
	r := recovery{name: s.workload, stored: events, wanted: events}
	if err := r.prepare(ctx, s, pids); err != nil {
		return fmt.Errorf("store the events: %w", err)
	}
	var open []*dynajournal.Journal
	defer func() {
		for _, j := range open {
			err = errors.Join(err, j.Close())
		}
	}()
	recoveries := func(hedged bool) (*candidate, *requestCount, error) {
		sent := &requestCount{}
		config := s.tables.config
		config.HedgeReads = hedged
		config.Hooks = []dynajournal.Hook{{OnRequest: sent.OnRequest}}
		j, err := dynajournal.Open(ctx, config)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, j)
		return &candidate{name: fmt.Sprint("hedged ", hedged), do: func(ctx context.Context, _ int) (int, error) {
			n, err := r.recover(ctx, j, pids[rand.IntN(entities)]) //nolint:gosec // no secret
			if err != nil {
				return 0, err
			}
			return 1, expectEvents(n, events)
		}}, sent, nil
	}
	ours, sent, err := recoveries(true)
	if err != nil {
		return err
	}
	base, sentOnce, err := recoveries(false)
	if err != nil {
		return err
	}
	before, beforeOnce := sent.cost(), sentOnce.cost()
	if err := s.compare(ctx, tailCallers, 0, ours, base); err != nil {
		return err
	}
	cost, costOnce := sent.cost().Sub(before), sentOnce.cost().Sub(beforeOnce)
	n, once := float64(ours.operations), float64(base.operations)
	const tail = 99.9
	return errors.Join(
		s.report("recoveries", perSecond, median(ours.rates), median(base.rates)),
		s.reportLatency(ours, base, 50, 99, tail), s.reportCPU(ours, base),
		s.report("sent", requests, float64(cost.Requests)/n, float64(costOnce.Requests)/once),
		s.report("read-units", readUnits, cost.ReadUnits/n, costOnce.ReadUnits/once),
		s.reportTraffic("", ours, base))
}
