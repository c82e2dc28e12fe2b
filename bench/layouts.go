package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
)

// layoutWorkload is the name of the comparison of layouts. Its base is not the bare SDK, but a
// native journal in the current layout.
const layoutWorkload = "layouts"

func layouts() []workload {
	return []workload{{layoutWorkload, len(storages()), compareLayouts}}
}

// The work that is measured in each layout, and the number of its events.
const (
	fewEvents, manyEvents = 10, 1000

	workWrite       = "write-1000"
	workRecoverFew  = "recover-10"
	workRecoverMany = "recover-1000"
	workDelete      = "delete-1000"
)

// layoutWorks lists the work in the order of the report.
var layoutWorks = []string{workWrite, workRecoverFew, workRecoverMany, workDelete}

// work does all work with new entities, each part inside measure: it appends single events one
// after the other, recovers, and permanently deletes all events, or all but the last if that cannot
// be deleted.
func (l *storage) work(
	ctx context.Context, j store, pid string, measure func(work string, do func() error) error,
) error {
	recovered := func(pid string, want int) (layoutWriter, error) {
		e, n, err := j.recover(ctx, pid)
		return e, errors.Join(err, expectEvents(n, want))
	}
	var e layoutWriter
	for _, size := range []struct {
		events           int
		writing, reading string
	}{{fewEvents, "", workRecoverFew}, {manyEvents, workWrite, workRecoverMany}} {
		id := fmt.Sprintf("%s-%d", pid, size.events)
		var err error
		if e, err = recovered(id, 0); err != nil {
			return err
		}
		write := func() error {
			for range size.events {
				if _, err := e.Append(ctx, payload); err != nil {
					return err
				}
			}
			return nil
		}
		if size.writing == "" {
			err = write()
		} else {
			err = measure(size.writing, write)
		}
		if err != nil {
			return err
		}
		if err := measure(size.reading, func() (err error) {
			e, err = recovered(id, size.events)
			return err
		}); err != nil {
			return err
		}
	}
	last := manyEvents
	if l.lastStays {
		last--
	}
	return measure(workDelete, func() error {
		n, err := e.remove(ctx, int64(last))
		return errors.Join(err, expectEvents(int(n), last))
	})
}

// layoutCandidate is a layout as a candidate of the comparison.
type layoutCandidate struct {
	storage

	store   store
	counted *requestCount
	config  dynajournal.Config
	// times has the duration of each work in each counted round, in milliseconds. costs has the
	// cost of each work in the last round.
	times map[string][]float64
	costs map[string]dynajournal.Cost
}

// compareLayouts runs the same work in every layout, alternately. Each layout has its own table.
func compareLayouts(ctx context.Context, s *session) (err error) {
	var all []*layoutCandidate
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
		defer cancel()
		for _, l := range all {
			err = errors.Join(err, l.close(ctx))
		}
	}()
	for _, kind := range storages() {
		l := &layoutCandidate{storage: kind, counted: &requestCount{}, times: map[string][]float64{},
			costs: map[string]dynajournal.Cost{}}
		l.config = s.options.Config
		l.config.JournalTable = s.tables.config.JournalTable + "-" + kind.name
		l.config.SnapshotTable, l.config.SequenceShards = l.config.JournalTable+"-snapshot", 0
		l.config.Hooks = append(slices.Clip(l.config.Hooks), dynajournal.Hook{OnRequest: l.counted.OnRequest})
		all = append(all, l)
		if err := l.open(ctx); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	for round := range warmUps + s.rounds {
		for i := range all {
			l := all[(round+i)%len(all)]
			if err := l.round(ctx, fmt.Sprintf("entity-%d", round), round >= warmUps); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			s.step(1)
		}
	}
	for _, l := range all {
		for _, work := range layoutWorks {
			if err := l.report(s, work, all[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *layoutCandidate) open(ctx context.Context) error {
	if err := l.create(ctx, l.config); err != nil {
		return err
	}
	j, err := l.storage.open(ctx, l.config)
	if err == nil {
		l.store = j
	}
	return err
}

// close closes the journal and deletes its tables. Missing tables are not an error.
func (l *layoutCandidate) close(ctx context.Context) error {
	var err error
	if l.store != nil {
		err = l.store.Close()
	}
	if gone := l.remove(ctx, l.config); !errors.Is(gone, dynajournal.ErrTableNotFound) {
		err = errors.Join(err, gone)
	}
	return err
}

func (l *layoutCandidate) round(ctx context.Context, pid string, counts bool) error {
	return l.work(ctx, l.store, pid, func(work string, do func() error) error {
		before, start := l.counted.cost(), time.Now()
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
		if took := time.Since(start); counts {
			l.times[work] = append(l.times[work],
				float64(took.Microseconds())/float64(time.Millisecond/time.Microsecond))
		}
		after := l.counted.cost()
		l.costs[work] = dynajournal.Cost{
			Requests: after.Requests - before.Requests, ReadUnits: after.ReadUnits - before.ReadUnits,
			WriteUnits: after.WriteUnits - before.WriteUnits,
		}
		return nil
	})
}

func (l *layoutCandidate) report(s *session, work string, base *layoutCandidate) error {
	cost, baseCost := l.costs[work], base.costs[work]
	name := l.name + "/" + work + "/"
	return errors.Join(
		s.report(name+"time", millisecond, median(l.times[work]), median(base.times[work])),
		s.report(name+"requests", requests, float64(cost.Requests), float64(baseCost.Requests)),
		s.report(name+"read-units", readUnits, cost.ReadUnits, baseCost.ReadUnits),
		s.report(name+"write-units", writeUnits, cost.WriteUnits, baseCost.WriteUnits))
}
