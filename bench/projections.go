package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// projectionWorkloads compare projections with the parts that they are built from, and with other
// ways to follow all events.
func projectionWorkloads(o Options) []workload {
	const two = 2
	swept := 10 * o.Entities
	if o.Quick {
		swept = o.Entities
	}
	return []workload{
		{"projections-cost", 0, projectionCosts},
		{"projections-idle", 0, idleProjections},
		{"projections-beside", 0, besideOthers},
		{"projections-speed", two * len(speeds(o)), handlingSpeed},
		{"projections-once", two, onceSpeed},
		{"projections-lag", 1, handlingLag},
		{"projections-sweep", 0, func(ctx context.Context, s *session) error { return sweeps(ctx, s, swept) }},
	}
}

// longLease is a lease timeout that is longer than any measurement, so that no lease is renewed
// meanwhile.
const longLease = time.Hour

// pollOften is the pause of projections after a response without records, in measurements that the
// pause does not affect.
const pollOften = 10 * time.Millisecond

// following returns the configuration of a group that reads the stream.
func (d *streamed) following(name string) projection.Config {
	return projection.Config{Name: name, Source: projection.Streams(d.streams, projection.StreamsOptions{
		LeaseTimeout: longLease, PerSecond: -1, Poll: pollOften,
	})}
}

// handling is a way to handle events, for which the cost is measured.
type handling struct {
	name string
	view types.StreamViewType
	// ids is the number of persistence ids. events is the number of new events of each. All of them
	// are in one response of the stream.
	ids, events int
	// once reports whether each event's effect is in one transaction with the offset.
	once bool
}

// handlings returns the ways whose costs are measured. Each persistence id already has an event.
func handlings() []handling {
	const few, many, manyIDs = 1, 100, 20
	var all []handling
	for _, view := range []struct {
		name string
		view types.StreamViewType
	}{{"image", types.StreamViewTypeNewImage}, {"keys", types.StreamViewTypeKeysOnly}} {
		for _, once := range []bool{false, true} {
			name := "at-least-once"
			if once {
				name = "transactional"
			}
			all = append(all,
				handling{fmt.Sprintf("%s-%s-1", name, view.name), view.view, manyIDs, few, once},
				handling{fmt.Sprintf("%s-%s-100", name, view.name), view.view, few, many, once})
		}
	}
	return all
}

// projectionCosts measures the cost of a projection for the writer, and the cost of handling an
// event. The base of a transaction is a bare transaction with the effect alone. At least once has
// no base, because the records of a stream do not consume capacity.
func projectionCosts(ctx context.Context, s *session) (err error) {
	stores := map[types.StreamViewType]*streamed{}
	defer func() {
		for _, d := range stores {
			err = errors.Join(err, d.close(ctx))
		}
	}()
	for _, h := range handlings() {
		d := stores[h.view]
		if d == nil {
			if d, err = s.openStreamed(ctx, string("cost-"+h.view), h.view); err != nil {
				return err
			}
			stores[h.view] = d
		}
		if err := s.costOfHandling(ctx, d, h); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return s.costOfWriting(ctx, stores[types.StreamViewTypeNewImage])
}

// costOfHandling measures the cost of handling an event.
func (s *session) costOfHandling(ctx context.Context, d *streamed, h handling) (err error) {
	writers, err := recoverWriters(ctx, d.writer, h.name, h.ids)
	if err != nil {
		return err
	}
	if err := appendEach(ctx, writers, 1); err != nil {
		return err
	}
	f, err := d.follow(ctx, d.following(h.name), func(f *following) projection.Projection {
		if h.once {
			return projection.Transactional("counted", f.effect(s.tables.bare))
		}
		return projection.AtLeastOnce("counted", projection.HandlerFunc(f.handle))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	cost, err := f.costOf(ctx, int64(h.ids*h.events), func() error { return appendEach(ctx, writers, h.events) })
	if err != nil {
		return err
	}
	var base dynajournal.Cost
	if h.once {
		const put = 2 // units of a put in a transaction
		base = dynajournal.Cost{Requests: 1, WriteUnits: put}
	}
	return s.reportCost(h.name, cost, base, h.ids*h.events)
}

// costOf returns the cost of handling n events that are written while the gate to the stream is
// shut.
func (f *following) costOf(ctx context.Context, n int64, write func() error) (dynajournal.Cost, error) {
	if err := f.waitUntilIdle(ctx); err != nil {
		return dynajournal.Cost{}, err
	}
	f.gate.shut()
	defer f.gate.open()
	if err := write(); err != nil {
		return dynajournal.Cost{}, err
	}
	before, handled := f.cost(), f.handled.Load()
	f.gate.open()
	if err := f.waitUntilHandled(ctx, handled+n); err != nil {
		return dynajournal.Cost{}, err
	}
	if err := f.waitUntilIdle(ctx); err != nil {
		return dynajournal.Cost{}, err
	}
	if got := f.handled.Load() - handled; got != n {
		return dynajournal.Cost{}, fmt.Errorf("%d events were handled, %d are new", got, n)
	}
	return f.cost().Sub(before), nil
}

// reportCost reports the cost per item of n items.
func (s *session) reportCost(name string, cost, base dynajournal.Cost, n int) error {
	each := float64(n)
	return errors.Join(
		s.report(name+"/requests", requests, float64(cost.Requests)/each, float64(base.Requests)),
		s.report(name+"/read-units", readUnits, cost.ReadUnits/each, base.ReadUnits),
		s.report(name+"/write-units", writeUnits, cost.WriteUnits/each, base.WriteUnits))
}

// costOfWriting measures the writer's cost of an event while a projection follows. The base is a
// journal without a stream.
func (s *session) costOfWriting(ctx context.Context, d *streamed) (err error) {
	const events = 100
	f, err := d.follow(ctx, d.following("writer"), func(f *following) projection.Projection {
		return projection.AtLeastOnce("counted", projection.HandlerFunc(f.handle))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	written := func(j *dynajournal.Journal, count *requestCount) (dynajournal.Cost, error) {
		writers, err := recoverWriters(ctx, j, s.workload+"-writer", 1)
		if err != nil {
			return dynajournal.Cost{}, err
		}
		before := count.cost()
		err = appendEach(ctx, writers, events)
		return count.cost().Sub(before), err
	}
	cost, err := written(d.writer, &d.written)
	if err != nil {
		return err
	}
	base, err := written(s.journal, s.measured)
	if err != nil {
		return err
	}
	return errors.Join(
		s.report("writer/requests", requests, float64(cost.Requests)/events, float64(base.Requests)/events),
		s.report("writer/write-units", writeUnits, cost.WriteUnits/events, base.WriteUnits/events))
}
