package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/entity"
)

// commands runs commands of all callers of all entities concurrently, as the Java program does with
// event-sourced behaviors. A command persists one event, and the state counts the events.
func (s *journalService) commands(ctx context.Context, r request) (a answer, err error) {
	var opts entity.Options
	if r.Joined {
		opts.Join.Mode = entity.JoinOn
	}
	hosted, err := entity.Open(s.journal, entity.Type[int, []byte]{
		Name:   "counter",
		Evolve: func(n int, _ []byte) int { return n + 1 },
	}, opts)
	if err != nil {
		return answer{}, fmt.Errorf("open the entities: %w", err)
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	read := func(*entity.Tx[int, []byte]) error { return nil }
	if err := s.all(ctx, r.Entities, func(ctx context.Context, i int) error {
		_, err := hosted.Update(ctx, r.pid(i), read)
		return err
	}); err != nil {
		return answer{}, err
	}
	var latency latencies
	var done atomic.Int64
	m := startMeasuring()
	until := m.start.Add(time.Duration(r.Seconds * float64(time.Second)))
	err = s.all(ctx, r.Entities*r.Callers, func(ctx context.Context, caller int) error {
		id := r.pid(caller / r.Callers)
		for {
			started := time.Now()
			if !started.Before(until) {
				return nil
			}
			if _, err := hosted.Update(ctx, id, s.count); err != nil {
				return err
			}
			done.Add(1)
			latency.add(time.Since(started))
		}
	})
	return latency.into(m.end(done.Load())), err
}

// count is a command with one event.
func (s *journalService) count(tx *entity.Tx[int, []byte]) error {
	tx.Record(s.payload)
	return nil
}
