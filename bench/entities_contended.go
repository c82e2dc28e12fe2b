package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// replicas is the number of processes that contend for an entity.
const replicas = 2

// replica is an entity host with its own journal, whose requests are counted.
type replica struct {
	hosted *counter
	cost   requestCount
	close  func() error
}

func (s *session) openReplica(ctx context.Context) (*replica, error) {
	r := &replica{}
	config := s.tables.config
	config.Hooks = append(slices.Clip(config.Hooks), dynajournal.Hook{OnRequest: r.cost.OnRequest})
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	if r.hosted, err = openCounter(j, s.workload, entity.Options{}); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	r.close = func() error { return errors.Join(r.hosted.Close(context.WithoutCancel(ctx)), j.Close()) }
	return r, nil
}

// count runs a command until it succeeds, however often another replica is faster.
func (r *replica) count(ctx context.Context, id string) error {
	for {
		_, err := r.hosted.Update(ctx, id, count)
		if !errors.Is(err, entity.ErrContended) {
			return err
		}
	}
}

// contendedEntity compares two replicas that write to the same entity, one caller each, with two
// callers of one replica.
func contendedEntity(ctx context.Context, s *session) (err error) {
	var all []*replica
	defer func() {
		for _, r := range all {
			err = errors.Join(err, r.close())
		}
	}()
	for range replicas + 1 {
		r, err := s.openReplica(ctx)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	alone := all[replicas]
	ours := &candidate{name: "two replicas", do: func(ctx context.Context, caller int) (int, error) {
		return 1, all[caller].count(ctx, "contended")
	}}
	base := &candidate{name: "one replica", do: func(ctx context.Context, _ int) (int, error) {
		return 1, alone.count(ctx, "owned")
	}}
	if err := s.compareInSlices(ctx, replicas, ours, base); err != nil {
		return err
	}
	cost, baseCost := all[0].cost.cost().Add(all[1].cost.cost()), alone.cost.cost()
	each, baseEach := float64(ours.operations), float64(base.operations)
	return errors.Join(
		s.reportPairs("commands", perSecond, ours.rates, base.rates),
		s.report("requests", requests, float64(cost.Requests)/each, float64(baseCost.Requests)/baseEach),
		s.report("read-units", readUnits, cost.ReadUnits/each, baseCost.ReadUnits/baseEach),
		s.report("write-units", writeUnits, cost.WriteUnits/each, baseCost.WriteUnits/baseEach))
}
