package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// besideEvents is the number of an id's events that each way follows. None of them writes a mark.
const besideEvents = 90

// besideOthers measures the cost of writing and handling an event with a projection and in other
// ways, and counts the events that the other ways never show. The base is a live query of the
// persistence id. In the figures that end in -to-slices, it is a model of an index by slice and
// time.
func besideOthers(ctx context.Context, s *session) (err error) {
	d, err := s.openStreamed(ctx, "beside", types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	f, err := d.follow(ctx, d.following("beside"), func(f *following) projection.Projection {
		return projection.AtLeastOnce("nothing", projection.HandlerFunc(f.handle))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	writers, err := recoverWriters(ctx, d.writer, s.workload, 1)
	if err != nil {
		return err
	}
	if err := appendEach(ctx, writers, 1); err != nil {
		return err
	}
	var written dynajournal.Cost
	ours, err := f.costOf(ctx, besideEvents, func() error {
		before := d.written.cost()
		err := appendEach(ctx, writers, besideEvents)
		written = d.written.cost().Sub(before)
		return err
	})
	if err != nil {
		return err
	}
	polled, err := d.polled(ctx, s.workload+"-0")
	if err != nil {
		return err
	}
	return s.reportBeside(ctx, f, written, ours, polled)
}

// polled returns the cost of a live query that finds the events of an id after the first one.
func (d *streamed) polled(ctx context.Context, pid string) (cost dynajournal.Cost, err error) {
	var count requestCount
	j, err := d.open(ctx, count.OnRequest)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	before, n := count.cost(), 0
	for _, err := range j.EventsByPersistenceID(ctx, pid, 2, 1+besideEvents, dynajournal.Poll{}) {
		if err != nil {
			return cost, err
		}
		n++
	}
	return count.cost().Sub(before), expectEvents(n, besideEvents)
}

// reportBeside follows the same number of events by an index of slices, and reports all figures.
func (s *session) reportBeside(
	ctx context.Context, f *following, written, ours, polled dynajournal.Cost,
) (err error) {
	x, err := s.openSliceIndex(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close(ctx)) }()
	for i := range int64(besideEvents) {
		if err := x.put(ctx, sliceEvent{pid: "order", seq: i + 1, at: i}, true); err != nil {
			return err
		}
	}
	indexed := x.cost
	// Each event is read by a query and by a backtracking query.
	for range 2 {
		found, err := x.query(ctx, 0, 0, besideEvents)
		if err != nil {
			return err
		}
		if err := expectEvents(len(found), besideEvents); err != nil {
			return err
		}
	}
	read := x.cost.Sub(indexed)
	events, missed, err := x.sliceLag(ctx)
	if err != nil {
		return err
	}
	notHandled, err := f.late(ctx, events)
	if err != nil {
		return err
	}
	const n = float64(besideEvents)
	return errors.Join(
		s.report("written-write-units-to-slices", writeUnits, written.WriteUnits/n, indexed.WriteUnits/n),
		s.report("requests", requests, float64(ours.Requests)/n, float64(polled.Requests)/n),
		s.report("read-units", readUnits, ours.ReadUnits/n, polled.ReadUnits/n),
		s.report("write-units", writeUnits, ours.WriteUnits/n, polled.WriteUnits/n),
		s.report("requests-to-slices", requests, float64(ours.Requests)/n, float64(read.Requests)/n),
		s.report("read-units-to-slices", readUnits, ours.ReadUnits/n, read.ReadUnits/n),
		s.report("missed-to-slices", missedEvents, float64(notHandled), float64(missed)))
}

// late writes events of many ids while the gate to the stream is shut. It returns the number of
// events that are not handled after the gate is opened.
func (f *following) late(ctx context.Context, events int) (int, error) {
	f.gate.shut()
	defer f.gate.open()
	writers, err := recoverWriters(ctx, f.writer, "late", events/eventsOfID)
	if err != nil {
		return 0, err
	}
	handled := f.handled.Load()
	if err := appendEach(ctx, writers, eventsOfID); err != nil {
		return 0, err
	}
	f.gate.open()
	want := handled + int64(len(writers)*eventsOfID)
	if err := f.waitUntilHandled(ctx, want); err != nil {
		return 0, fmt.Errorf("%d of %d events were handled: %w", f.handled.Load()-handled, want-handled, err)
	}
	return int(want - f.handled.Load()), nil
}
