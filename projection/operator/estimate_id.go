package operator

import (
	"context"
	"fmt"
	"math"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// mostEstimated is the maximum number of pages that an estimate reads of a persistence id. It
// assumes that the rest is like them.
const mostEstimated = 20

// estimateID reads a persistence id as a sweep does that finds no rows.
func (e *estimator) estimateID(ctx context.Context, pid string) (idEstimate, error) {
	var members []*engine.Member
	for _, of := range e.Members {
		if of.Only.Takes(pid) {
			members = append(members, of)
		}
	}
	var at engine.Offset
	var found idEstimate
	for pages := 0; ; pages++ {
		if pages == mostEstimated {
			return e.extrapolate(ctx, pid, at, found)
		}
		most := e.Config.BatchSize
		if at.Seq > 0 {
			most++ // the event at the offset
		}
		var reading dynamo.Meter
		page, err := core.Of(e.Journal).ReadPage(dynamo.WithMeter(ctx, &reading), pid, max(at.Seq, 1), most)
		if engine.IsUnreadable(err) {
			return found, nil // the sweep makes the persistence id stuck
		}
		if err != nil {
			return idEstimate{}, err
		}
		steps := engine.Plan(at, at.Seq > 0, page)
		for _, of := range members {
			found = found.add(e.page(of, pid, reading.Cost(), steps))
		}
		if len(steps) == 0 || !page.More || steps[0].Purge { // a purge: it has changed meanwhile
			return found, nil
		}
		at = steps[len(steps)-1].To
	}
}

// rowBytes is the size of a row without its key, with a claim, a writer and a number.
const rowBytes = 200

// page returns the work and cost of a run for a page of events.
func (e *estimator) page(of *engine.Member, pid string, reading dynamo.Cost, steps []engine.Step) idEstimate {
	const kb, read = 1 << 10, 4 << 10
	size := len(e.Table.JournalName) + len(of.Name) + len(pid) + rowBytes
	row := math.Ceil(float64(size) / kb)
	found := idEstimate{cost: reading.Add(dynamo.Cost{Requests: 1, ReadUnits: math.Ceil(float64(size) / read)})}
	if len(steps) == 0 {
		return found
	}
	left := of.Only.LeaveOut(steps)
	for i := range left {
		if left[i].Event != nil {
			found.events++
		}
	}
	writes, units := 1, 1
	if !of.PassesOver(left) {
		writes, units = of.Effect.Writes(left)
	}
	found.cost.Requests += writes
	found.cost.WriteUnits += float64(units) * row
	return found
}

func (l idEstimate) add(other idEstimate) idEstimate {
	return idEstimate{l.events + other.events, l.cost.Add(other.cost)}
}

// times returns l multiplied by a factor.
func (l idEstimate) times(factor float64) idEstimate {
	return idEstimate{int64(float64(l.events) * factor), dynamo.Cost{
		Requests:  int(float64(l.cost.Requests) * factor),
		ReadUnits: l.cost.ReadUnits * factor, WriteUnits: l.cost.WriteUnits * factor,
	}}
}

// extrapolate returns the estimate for a persistence id from the part that was read, up to an
// offset.
func (e *estimator) extrapolate(ctx context.Context, pid string, at engine.Offset, found idEstimate) (idEstimate, error) {
	bounds, err := e.Journal.Bounds(ctx, pid)
	if err != nil {
		return idEstimate{}, fmt.Errorf("estimate %q: %w", pid, err)
	}
	return found.times(max(float64(bounds.Highest)/float64(at.Seq), 1)), nil
}

// sum sets the result from the estimates and the cost of the listing.
func (e *estimator) sum(listing dynamo.Cost) {
	r := &e.result
	r.Sampled = len(e.estimates)
	quantity := func(of func(idEstimate) float64) (total, margin float64) {
		return extend(e.estimates, r.IDs, of)
	}
	events, eventsMargin := quantity(func(l idEstimate) float64 { return float64(l.events) })
	requests, requestsMargin := quantity(func(l idEstimate) float64 { return float64(l.cost.Requests) })
	reads, readsMargin := quantity(func(l idEstimate) float64 { return l.cost.ReadUnits })
	writes, writesMargin := quantity(func(l idEstimate) float64 { return l.cost.WriteUnits })
	r.Events, r.EventsMargin = int64(math.Round(events)), int64(math.Ceil(eventsMargin))
	own := listing.Add(e.positions())
	r.Cost = dynajournal.Cost{
		Requests:  own.Requests + int(math.Round(requests)),
		ReadUnits: own.ReadUnits + reads, WriteUnits: own.WriteUnits + writes,
	}
	r.CostMargin = dynajournal.Cost{
		Requests: int(math.Ceil(requestsMargin)), ReadUnits: readsMargin, WriteUnits: writesMargin,
	}
}

// positions returns the cost of storing the position of a sweep of the source [projection.Sweep].
func (e *estimator) positions() dynamo.Cost {
	if e.Config.Source.Kind() != engine.SourceSweep {
		return dynamo.Cost{}
	}
	saved := e.result.IDs / engine.SavedEvery
	if saved > 0 {
		saved++ // the beginning, at the end
	}
	return dynamo.Cost{Requests: 1 + saved, ReadUnits: 1, WriteUnits: float64(saved)}
}

// extend returns the total of a quantity of all persistence ids, estimated from the samples, and
// two standard errors of it.
func extend(estimates []idEstimate, all int, of func(idEstimate) float64) (_, margin float64) {
	n := float64(len(estimates))
	if n == 0 {
		return 0, 0
	}
	sum, squares := 0.0, 0.0
	for _, l := range estimates {
		sum += of(l)
	}
	mean, total := sum/n, sum*float64(all)/n
	for _, l := range estimates {
		squares += (of(l) - mean) * (of(l) - mean)
	}
	if n > 1 {
		rest := 1 - n/float64(all) // a sample of all has no error
		margin = 2 * float64(all) * math.Sqrt(squares/(n-1)/n*max(rest, 0))
	}
	return total, margin
}
