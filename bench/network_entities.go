package bench

import (
	"context"
	"errors"
)

// openRate is the number of commands per second that arrive at the entities of an open loop.
const openRate = 1000

// openLoopEntities compares commands that arrive at a fixed rate at many entities in memory with
// appends of the same number of writers, and with PutItems.
func openLoopEntities(ctx context.Context, s *session, entities int) (err error) {
	hosted, writers, err := counterBesideWriters(ctx, s, entities)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	ids := names("entity", entities)
	ours := &candidate{name: "entities", do: func(ctx context.Context, caller int) (int, error) {
		_, err := hosted.Update(ctx, ids[caller], count)
		return 1, err
	}}
	appended, base := appends(writers), s.puts(s.tables.bare, s.workload, entities, conditional)
	if err := s.compareOpen(ctx, entities, openRate, ours, appended, base); err != nil {
		return err
	}
	return errors.Join(s.reportNetwork("", ours, base), s.reportNetwork("-to-appends", ours, appended))
}
