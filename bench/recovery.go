package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// recoveries returns the usual recoveries of a service: of entities that are new, are small, have a
// snapshot, have some hundred events, or have deleted events.
func recoveries() []workload {
	const two = 2
	var all []workload
	for _, r := range []recovery{
		{name: "recover-new"},
		{name: "recover-5", stored: 5, wanted: 5},
		{name: "recover-snapshot-5", stored: 45, snapshot: 40, wanted: 5},
		{name: "recover-250", stored: 250, wanted: 250},
		{name: "recover-250-deleted-1000", stored: 1250, deleted: 1000, wanted: 250},
	} {
		all = append(all, workload{r.name, two, r.run})
	}
	return all
}

// recovery is a kind of recovery.
type recovery struct {
	name string
	// stored is the number of events ever stored. deleted is the number of deleted events among
	// them. snapshot is the sequence number of a snapshot, or 0. wanted is the number of replayed
	// events.
	stored, deleted, snapshot, wanted int64
}

// run compares a recovery with the minimal Queries for the same result, one after the other: of the
// snapshot, and of the partitions with the wanted events.
func (r recovery) run(ctx context.Context, s *session) error {
	const entities = 4
	pids := names(r.name, entities)
	if err := r.prepare(ctx, s, pids); err != nil {
		return fmt.Errorf("store the events: %w", err)
	}
	var recovered, queried atomic.Int64
	next := func(n *atomic.Int64) string {
		i := n.Add(1)
		if r.stored == 0 { // a new id each time, because a recovered one is no longer new
			return fmt.Sprintf("%s-%d", r.name, i)
		}
		return pids[i%entities]
	}
	ours := &candidate{name: "journal", do: func(ctx context.Context, _ int) (int, error) {
		n, err := r.recover(ctx, s.journal, next(&recovered))
		if err != nil {
			return n, err
		}
		return 1, expectEvents(n, int(r.wanted))
	}}
	var baseCost dynajournal.Cost
	base := &candidate{name: "Query", do: func(ctx context.Context, _ int) (int, error) {
		n, cost, err := r.query(ctx, s, next(&queried))
		if err != nil {
			return n, err
		}
		baseCost = cost
		return 1, expectEvents(n, int(r.wanted))
	}}
	before := s.measured.cost()
	if err := s.compare(ctx, 1, 0, ours, base); err != nil {
		return err
	}
	after, n := s.measured.cost(), float64(ours.operations)
	return errors.Join(
		s.reportLatency(ours, base, 50, 99),
		s.report("requests", requests, float64(after.Requests-before.Requests)/n, float64(baseCost.Requests)),
		s.report("read-units", readUnits, (after.ReadUnits-before.ReadUnits)/n, baseCost.ReadUnits))
}

func (r recovery) prepare(ctx context.Context, s *session, pids []string) error {
	if r.stored == 0 {
		return nil
	}
	if err := s.load(ctx, pids, r.stored); err != nil {
		return err
	}
	for _, pid := range pids {
		if r.snapshot > 0 {
			if _, err := s.journal.SaveSnapshot(ctx,
				dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: r.snapshot}, payload); err != nil {
				return err
			}
		}
		if r.deleted > 0 {
			w, err := s.journal.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			if err != nil {
				return err
			}
			if _, err := w.DeleteTo(ctx, r.deleted); err != nil {
				return err
			}
		}
	}
	return nil
}

// recover returns the number of replayed events.
func (r recovery) recover(ctx context.Context, j *dynajournal.Journal, pid string) (int, error) {
	var opts dynajournal.RecoverOptions
	if r.snapshot > 0 {
		snapshot, found, err := j.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, fmt.Errorf("%q has no snapshot", pid)
		}
		opts.Snapshot = snapshot.SequenceNumber
	}
	n := 0
	_, err := j.Recover(ctx, pid, opts, func(dynajournal.Event) error {
		n++
		return nil
	})
	return n, err
}

func (r recovery) query(ctx context.Context, s *session, pid string) (int, dynajournal.Cost, error) {
	var cost dynajournal.Cost
	if r.snapshot > 0 {
		var err error
		if _, cost, err = s.queryKey(ctx, s.tables.config.SnapshotTable, s.tables.keys.Snapshots(pid),
			layout.AttrSnapshotSeq, 1); err != nil {
			return 0, cost, err
		}
	}
	n, c, err := s.query(ctx, pid, max(r.deleted, r.snapshot)+1, max(r.stored, 1))
	return n, cost.Add(c), err
}
