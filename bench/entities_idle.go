package bench

import (
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// idleEntities measures the memory of idle loaded entities, and the cost of recovering them after
// they were dropped. The base is the same number of writers of the journal, and their recoveries.
func idleEntities(ctx context.Context, s *session, entities int) (err error) {
	ids := names("entity", entities)
	hosted, err := openCounter(s.journal, s.workload, entity.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosted.Close(context.WithoutCancel(ctx))) }()
	loaded, err := s.measureEach(ctx, entities, func(ctx context.Context, i int) error {
		_, err := hosted.Update(ctx, ids[i], count)
		return err
	})
	if err != nil {
		return err
	}
	writers := make([]*dynajournal.Writer, entities)
	base, err := s.measureEach(ctx, entities, func(ctx context.Context, i int) (err error) {
		pid := s.workload + "|" + ids[i]
		writers[i], err = s.journal.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
		return err
	})
	if err != nil {
		return err
	}
	if err := each(ctx, entities, func(ctx context.Context, i int) error { return hosted.Drop(ctx, ids[i]) }); err != nil {
		return err
	}
	recovered, err := s.measureEach(ctx, entities, func(ctx context.Context, i int) error {
		_, err := hosted.Update(ctx, ids[i], func(*entity.Tx[int, []byte]) error { return nil })
		return err
	})
	if err != nil {
		return err
	}
	runtime.KeepAlive(writers)
	return errors.Join(
		s.report("memory", heapBytes, loaded.bytes, base.bytes),
		s.report("recovery-requests", requests, recovered.requests, base.requests),
		s.report("recovery-read-units", readUnits, recovered.reads, base.reads))
}

// share is the consumption of one of many entities or writers.
type share struct{ bytes, requests, reads float64 }

// measureEach calls do n times, and returns the retained memory and the cost of one call.
func (s *session) measureEach(ctx context.Context, n int, do func(ctx context.Context, i int) error) (share, error) {
	heap, cost := heapSize(), s.measured.cost()
	if err := each(ctx, n, do); err != nil {
		return share{}, err
	}
	cost = s.measured.cost().Sub(cost)
	return share{
		bytes: (heapSize() - heap) / float64(n), requests: float64(cost.Requests) / float64(n),
		reads: cost.ReadUnits / float64(n),
	}, nil
}

// each calls do with the numbers from 0 to n-1, some of them concurrently.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// heapSize returns the size of all live objects on the heap.
func heapSize() float64 {
	const collections = 2 // the second one frees objects that the first one removed from pools
	for range collections {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
