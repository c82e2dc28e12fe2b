package bench

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// hookWorkloads compare a journal with all hooks and one without any, on the same tables. The hooks
// do nothing, so the difference is the cost of calling them.
func hookWorkloads(o Options) []workload {
	const two, entities = 2, 64
	return []workload{
		{"hooks-write-64", two, func(ctx context.Context, s *session) error { return writeWithHooks(ctx, s, entities) }},
		{"hooks-entities", two, func(ctx context.Context, s *session) error { return entitiesWithHooks(ctx, s, o.Entities) }},
	}
}

// journalHook has every hook of a journal.
func journalHook() dynajournal.Hook {
	return dynajournal.Hook{
		OnHole:       func(context.Context, dynajournal.Hole) {},
		OnLoss:       func(context.Context, dynajournal.Loss) {},
		OnOperation:  func(context.Context, dynajournal.Operation) {},
		OnSeal:       func(context.Context, dynajournal.Seal) {},
		StartRequest: func(ctx context.Context, _ dynajournal.RequestStart) context.Context { return ctx },
		OnRequest:    func(context.Context, dynajournal.Request) {},
		OnRequestEnd: func(context.Context, dynajournal.RequestEnd) {},
	}
}

// entityHook has every hook of entities.
func entityHook() entity.Hook {
	return entity.Hook{
		StartCommand:  func(ctx context.Context, _ entity.CommandStart) context.Context { return ctx },
		OnCommand:     func(context.Context, entity.Command) {},
		StartWrite:    func(ctx context.Context, _ entity.WriteStart) context.Context { return ctx },
		OnWrite:       func(context.Context, entity.Write) {},
		OnConflict:    func(context.Context, entity.Conflict) {},
		StartRecovery: func(ctx context.Context, _ entity.RecoveryStart) context.Context { return ctx },
		OnRecovery:    func(context.Context, entity.Recovery) {},
		OnSnapshot:    func(context.Context, entity.Snapshot) {},
		OnDrop:        func(context.Context, entity.Drop) {},
	}
}

// withAndWithout opens two journals, calls run with them, and closes them.
func withAndWithout(ctx context.Context, s *session, run func(with, without *dynajournal.Journal) error) error {
	config := s.tables.config
	config.Hooks = nil
	without, err := dynajournal.Open(ctx, config)
	if err != nil {
		return err
	}
	config.Hooks = []dynajournal.Hook{journalHook()}
	with, err := dynajournal.Open(ctx, config)
	if err != nil {
		return errors.Join(err, without.Close())
	}
	return errors.Join(run(with, without), with.Close(), without.Close())
}

// writeWithHooks compares events of several entities.
func writeWithHooks(ctx context.Context, s *session, entities int) error {
	return withAndWithout(ctx, s, func(with, without *dynajournal.Journal) error {
		var both [2]*candidate
		for i, j := range []*dynajournal.Journal{with, without} {
			writers, err := recoverWriters(ctx, j, s.workload+names("journal", len(both))[i], entities)
			if err != nil {
				return err
			}
			both[i] = appends(writers)
		}
		if err := s.compareInSlices(ctx, entities, both[:]...); err != nil {
			return err
		}
		return s.reportHooks("events", both[0], both[1])
	})
}

// entitiesWithHooks compares commands of many entities that are in memory.
func entitiesWithHooks(ctx context.Context, s *session, entities int) error {
	return withAndWithout(ctx, s, func(with, without *dynajournal.Journal) (err error) {
		hooked, err := openCounter(with, s.workload+"-with", entity.Options{Hooks: []entity.Hook{entityHook()}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, hooked.Close(context.WithoutCancel(ctx))) }()
		plain, err := openCounter(without, s.workload+"-without", entity.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, plain.Close(context.WithoutCancel(ctx))) }()
		if err := errors.Join(load(ctx, hooked, entities), load(ctx, plain, entities)); err != nil {
			return err
		}
		ours, base := counts(hooked, entities), counts(plain, entities)
		if err := s.compareInSlices(ctx, entityCallers, ours, base); err != nil {
			return err
		}
		return s.reportHooks("commands", ours, base)
	})
}

// counts returns a candidate that sends commands to entities at random.
func counts(hosted *counter, entities int) *candidate {
	ids := names("entity", entities)
	return &candidate{name: "entities", do: func(ctx context.Context, _ int) (int, error) {
		_, err := hosted.Update(ctx, ids[rand.IntN(entities)], count) //nolint:gosec // no secret
		return 1, err
	}}
}

// reportHooks reports the rate and the processor time with hooks, compared with those without.
func (s *session) reportHooks(what string, with, without *candidate) error {
	return errors.Join(
		s.reportPairs(what, perSecond, with.rates, without.rates),
		s.reportPairs("cpu", microsecond, with.cpu, without.cpu))
}
