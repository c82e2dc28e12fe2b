package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// upgrade converts events to the current form in place.
func (m *migrationRun) upgrade(ctx context.Context) error {
	s, c := m.session, m.command
	shown := s.idsProgress(ctx, m.target, "persistence ids", len(c.PersistenceIDs))
	defer shown.stop()
	usage := migration.Pace(c.ReadUnits, c.WriteUnits)
	var mu sync.Mutex
	var ids, upgraded int64
	var left []string
	opts := dynajournal.UpgradeOptions{Pace: usage, Left: func(pid string, seq int64, reason error) {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, fmt.Sprintf("left as it is: %s at %d: %s", printable(pid), seq, oneLine(reason.Error())))
	}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.Parallel)
	one := func(pid string) {
		group.Go(func() error {
			result, err := m.target.UpgradeEvents(ctx, pid, opts)
			mu.Lock()
			defer mu.Unlock()
			upgraded += result.Upgraded
			if err == nil {
				ids++
				shown.count()
			}
			return err
		})
	}
	var listing error
	for _, pid := range c.PersistenceIDs {
		one(pid)
	}
	if len(c.PersistenceIDs) == 0 {
		for pid, err := range m.target.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true}) {
			if listing = err; err != nil {
				break
			}
			one(pid)
		}
	}
	err := errors.Join(group.Wait(), listing)
	for _, line := range left {
		err = errors.Join(err, s.message("%s", line))
	}
	if err == nil {
		err = s.message("upgraded %d events of %d persistence ids in place", upgraded, ids)
	}
	return errors.Join(err, s.result.write(copiedResult{PersistenceIDs: ids, Events: upgraded}))
}
