package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsEstimateCommand struct {
	BatchSize     int      `default:"100" placeholder:"N" help:"Config.BatchSize of the group. Default: the default of package projection, ${default}."`
	PerSecond     float64  `default:"100" placeholder:"N" help:"Persistence ids per second of the sweep, and of the estimate. -1 for no limit. Default: ${default}."`
	Prefix        []string `placeholder:"TEXT" sep:"none" help:"Only persistence ids that begin with TEXT, as with projection.OnlyIDs. Can be repeated."`
	Sample        int      `default:"100" placeholder:"N" help:"Read at most N persistence ids. A larger sample has narrower margins. Default: ${default}."`
	Transactional bool     `help:"The projection is Transactional. Add the write units of its items."`
}

// Help returns the text below the help of the flags.
func (*projectionsEstimateCommand) Help() string {
	return "It estimates the first sweep of a projection that has never run: the events that are handled, the " +
		"requests and the capacity units. It lists all persistence ids, and reads the events of a random " +
		"sample. The margins are two standard errors: in 19 of 20 estimates the true value is within them. " +
		"They are too narrow if a few persistence ids have most of the events. The table of projections " +
		"is not needed. After a sweep, its actual cost is in the log of its process, and in Hook.OnSweep."
}

// estimateResult is the estimated work and cost of a sweep.
type estimateResult struct {
	IDs              int     `json:"ids"`
	Sampled          int     `json:"sampled"`
	Events           int64   `json:"events"`
	EventsMargin     int64   `json:"events_margin"`
	Requests         int     `json:"requests"`
	RequestsMargin   int     `json:"requests_margin"`
	ReadUnits        float64 `json:"read_units"`
	ReadUnitsMargin  float64 `json:"read_units_margin"`
	WriteUnits       float64 `json:"write_units"`
	WriteUnitsMargin float64 `json:"write_units_margin"`
	// LeastMs is the shortest duration of the sweep, 0 if it has no limit of persistence ids per
	// second.
	LeastMs       int64   `json:"least_ms"`
	UsedReadUnits float64 `json:"used_read_units"`
}

func (r estimateResult) text() string {
	text := fmt.Sprintf("%d persistence ids\n%d ± %d events\n%d ± %d requests\n%.0f ± %.0f read units\n%.0f ± %.0f write units\n",
		r.IDs, r.Events, r.EventsMargin, r.Requests, r.RequestsMargin, r.ReadUnits, r.ReadUnitsMargin,
		r.WriteUnits, r.WriteUnitsMargin)
	if r.LeastMs > 0 {
		text += fmt.Sprintf("at least %v\n", time.Duration(r.LeastMs)*time.Millisecond)
	}
	return text + fmt.Sprintf("estimated from a sample of %d persistence ids, for %.0f read units", r.Sampled, r.UsedReadUnits)
}

// Run runs the command.
func (c *projectionsEstimateCommand) Run(ctx context.Context, s *session) error {
	if c.Sample < 1 || c.BatchSize < 1 {
		return usagef("--sample and --batch-size must be at least 1")
	}
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		group, err := projection.New(j, projection.Config{
			Name: "estimate", BatchSize: c.BatchSize,
			Source: projection.Sweep(projection.SweepOptions{PerSecond: c.PerSecond}),
		}, c.projection())
		if err != nil {
			return err
		}
		shown := newProgress(s.err, "persistence ids listed")
		defer shown.stop()
		e, err := operator.EstimateSweep(ctx, group, operator.EstimateOptions{
			Sample: c.Sample, Progress: func(ids int) { shown.set(int64(ids)) },
		})
		if err != nil {
			return err
		}
		return s.result.write(estimateResult{
			IDs: e.IDs, Sampled: e.Sampled, Events: e.Events, EventsMargin: e.EventsMargin,
			Requests: e.Cost.Requests, RequestsMargin: e.CostMargin.Requests,
			ReadUnits: e.Cost.ReadUnits, ReadUnitsMargin: e.CostMargin.ReadUnits,
			WriteUnits: e.Cost.WriteUnits, WriteUnitsMargin: e.CostMargin.WriteUnits,
			LeastMs: e.Least.Milliseconds(), UsedReadUnits: e.Used.ReadUnits,
		})
	})
}

// projection returns a projection with the options of the flags. Its handler is never called.
func (c *projectionsEstimateCommand) projection() projection.Projection {
	var options []projection.Option
	if len(c.Prefix) > 0 {
		options = append(options, projection.OnlyIDs(c.Prefix...))
	}
	if c.Transactional {
		return projection.Transactional("new", projection.TransactionalFunc(nil), options...)
	}
	return projection.AtLeastOnce("new", projection.HandlerFunc(nil), options...)
}
