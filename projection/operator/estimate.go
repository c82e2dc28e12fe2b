package operator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// EstimateOptions are the options of [EstimateSweep]. The zero value has the defaults.
type EstimateOptions struct {
	// Sample is the maximum number of persistence ids that are read, chosen at random. More make
	// the margins narrower: four times as many halve them. If all persistence ids are read, the
	// margins are 0.
	//
	// From 1 to 100,000. Defaults to 100.
	Sample int

	// Progress, if set, is called with the number of persistence ids that were listed so far.
	Progress func(ids int)
}

const (
	defaultSample = 100
	maxSample     = 100_000
)

func (o *EstimateOptions) complete() error {
	if o.Sample == 0 {
		o.Sample = defaultSample
	}
	if o.Sample < 1 || o.Sample > maxSample {
		return engine.Argument("EstimateOptions.Sample", o.Sample, fmt.Sprintf("it must be from 1 to %d", maxSample))
	}
	return nil
}

// SweepEstimate is the estimated work and cost of a sweep.
type SweepEstimate struct {
	// IDs is the number of persistence ids in the sweep. It is exact.
	IDs int
	// Sampled is the number of persistence ids that were read. The fields below assume that the
	// others are like these.
	Sampled int
	// Events is the number of events to be handled, each once for each projection.
	Events int64
	// Cost is the cost of the sweep: see [projection.SweepCount.Cost]. It does not include the
	// requests of handlers. For a [projection.Transactional] projection add the units of its items,
	// and for an outbox with outbox.MakeOnce the writes that store messages.
	Cost dynajournal.Cost
	// EventsMargin and CostMargin are two standard errors of Events and Cost: 19 of 20 estimates
	// are within the margin. They are 0 if all persistence ids were read. They are too small if a
	// few persistence ids have most of the events and are not in the sample.
	EventsMargin int64
	CostMargin   dynajournal.Cost
	// Least is the minimum duration of the sweep, because its source limits the persistence ids per
	// second. It is 0 without a limit. Handlers may need longer.
	Least time.Duration
	// Used is the cost of the estimate itself.
	Used dynajournal.Cost
}

// EstimateSweep estimates the work and cost of a sweep if no projection of the group has ever run,
// such as when a projection is added to an old journal. It writes nothing, needs no projections
// table, and ignores [projection.FromNow]. The group may run meanwhile.
//
// It lists all persistence ids, and reads the events of a sample as the sweep does, up to 20 pages
// of Config.BatchSize for each persistence id. It reads no more persistence ids a second than the
// source. In a journal that is shared with a JVM it ignores missing numbers, for which a sweep
// waits. [projection.Hook].OnSweep gets the actual cost of the sweep at its end.
//
// Errors: a *dynajournal.ArgumentError, errors of a listing, and errors of requests.
func EstimateSweep(ctx context.Context, g *projection.Group, opts EstimateOptions) (SweepEstimate, error) {
	of := engine.GroupOf(g)
	e := estimator{Group: of}
	err := opts.complete()
	if err == nil {
		err = e.estimate(ctx, opts)
	}
	if err != nil {
		return SweepEstimate{}, fmt.Errorf("estimate a sweep of projections %q: %w", of.Config.Name, err)
	}
	return e.result, nil
}

// estimator estimates a sweep.
type estimator struct {
	*engine.Group

	result SweepEstimate
	used   dynamo.Meter

	mu sync.Mutex
	// estimates are the results for the persistence ids of the sample.
	estimates []idEstimate
}

// idEstimate is the estimated work and cost of a sweep for one persistence id.
type idEstimate struct {
	events int64
	cost   dynamo.Cost
}

func (e *estimator) estimate(ctx context.Context, opts EstimateOptions) error {
	ctx = dynamo.WithMeter(ctx, &e.used)
	sample, err := e.list(ctx, opts)
	if err != nil {
		return err
	}
	listing := e.used.Cost()
	if err := e.read(ctx, sample); err != nil {
		return err
	}
	e.sum(listing)
	if perSecond := e.Config.Source.PerSecond(); perSecond > 0 {
		e.result.Least = time.Duration(float64(e.result.IDs) / perSecond * float64(time.Second))
	}
	e.result.Used = dynajournal.Cost(e.used.Cost())
	return nil
}

// list counts the persistence ids that the group takes, and chooses a sample, in which each has the
// same chance.
func (e *estimator) list(ctx context.Context, opts EstimateOptions) ([]string, error) {
	var sample []string
	for pid, err := range e.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Sorted: true}) {
		if err != nil {
			return nil, err
		}
		if !engine.Takes(e.Members, pid) {
			continue
		}
		e.result.IDs++
		if len(sample) < opts.Sample {
			sample = append(sample, pid)
		} else if at := rand.IntN(e.result.IDs); at < opts.Sample { //nolint:gosec // a sample needs no secrecy
			sample[at] = pid
		}
		if opts.Progress != nil {
			opts.Progress(e.result.IDs)
		}
	}
	return sample, nil
}

// estimatedAtOnce is the number of persistence ids that are read concurrently.
const estimatedAtOnce = 8

// read estimates the persistence ids of a sample.
func (e *estimator) read(ctx context.Context, sample []string) error {
	limit := engine.LimitOf(e.Config.Source.PerSecond())
	reading, readingCtx := errgroup.WithContext(ctx)
	reading.SetLimit(estimatedAtOnce)
	for _, pid := range sample {
		if err := engine.WaitFor(readingCtx, limit); err != nil {
			return errors.Join(reading.Wait(), err)
		}
		reading.Go(func() error {
			found, err := e.estimateID(readingCtx, pid)
			if err != nil {
				return err
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.estimates = append(e.estimates, found)
			return nil
		})
	}
	return reading.Wait()
}
