package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

const (
	// polledIDs is the number of persistence ids. None of them gets new events.
	polledIDs = 100
	// slowPoll is the default of a live query's longest pause.
	slowPoll = dynajournal.DefaultPollLongest
)

// idleProjections measures the cost per minute of an idle projection with default settings. The
// base is a live query of each of 100 persistence ids. In the figures that end in -to-slices, it is
// the documented queries of an index by slice and time.
func idleProjections(ctx context.Context, s *session) (err error) {
	d, err := s.openStreamed(ctx, "idle", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	pids := names("idle", polledIDs)
	if err := s.loadFirst(ctx, d.config.JournalTable, pids); err != nil {
		return err
	}
	config := projection.Config{Name: "idle", Source: projection.Streams(d.streams, projection.StreamsOptions{PerSecond: -1})}
	f, err := d.follow(ctx, config, func(f *following) projection.Projection {
		return projection.AtLeastOnce("nothing", projection.HandlerFunc(f.handle))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	var polled requestCount
	polling, err := d.open(ctx, polled.OnRequest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, polling.Close()) }()
	stop := poll(ctx, polling, pids)
	defer func() { err = errors.Join(err, stop()) }()
	if err := f.waitUntilHandled(ctx, polledIDs); err != nil {
		return err
	}
	if err := f.waitUntilIdle(ctx); err != nil {
		return err
	}
	return s.reportIdle(ctx, f, &polled)
}

// reportIdle measures for a minute, or for 15 seconds with Options.Quick, and reports the figures
// per minute.
func (s *session) reportIdle(ctx context.Context, f *following, polled *requestCount) error {
	length := time.Minute
	if s.options.Quick {
		length = 15 * time.Second //nolint:mnd // three renewals of the leases, five polls
	}
	events, rows, asked, base := f.ofEvents.cost(), f.ofRows.cost(), f.gate.sent.Load(), polled.cost()
	select {
	case <-time.After(length):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	events, rows, base = f.ofEvents.cost().Sub(events), f.ofRows.cost().Sub(rows), polled.cost().Sub(base)
	asked = f.gate.sent.Load() - asked
	slices, err := s.idleSlices(ctx)
	if err != nil {
		return err
	}
	minute := float64(time.Minute / length)
	all := events.Add(rows)
	return errors.Join(
		s.report("journal-read-units", readUnits, events.ReadUnits*minute, base.ReadUnits*minute),
		s.report("requests", requests, float64(all.Requests)*minute, float64(base.Requests)*minute),
		s.report("read-units", readUnits, all.ReadUnits*minute, base.ReadUnits*minute),
		s.report("write-units", writeUnits, all.WriteUnits*minute, base.WriteUnits*minute),
		s.report("stream-requests", requests, float64(asked)*minute, 0),
		s.report("requests-to-slices", requests, float64(all.Requests)*minute, float64(slices.Requests)),
		s.report("read-units-to-slices", readUnits, all.ReadUnits*minute, slices.ReadUnits))
}

// poll follows each persistence id after its first event with a live query, until stop is called.
func poll(ctx context.Context, j *dynajournal.Journal, pids []string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	errs := make([]error, len(pids))
	for i, pid := range pids {
		all.Go(func() {
			for _, err := range j.EventsByPersistenceID(ctx, pid, 2, 0, dynajournal.Poll{Shortest: slowPoll, Longest: slowPoll}) {
				if err != nil && ctx.Err() == nil {
					errs[i] = err
				}
			}
		})
	}
	return func() error {
		cancel()
		all.Wait()
		return errors.Join(errs...)
	}
}

// idleSlices returns the cost of a minute of queries of all slices that find nothing, without the
// backtracking queries.
func (s *session) idleSlices(ctx context.Context) (cost dynajournal.Cost, err error) {
	x, err := s.openSliceIndex(ctx)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, x.close(ctx)) }()
	for slice := range allSlices {
		if _, err := x.query(ctx, slice, 0, backtrackWindowMillis); err != nil {
			return cost, err
		}
	}
	const refreshes = 60 / sliceRefreshSeconds
	return dynajournal.Cost{Requests: x.cost.Requests * refreshes, ReadUnits: x.cost.ReadUnits * refreshes}, nil
}
