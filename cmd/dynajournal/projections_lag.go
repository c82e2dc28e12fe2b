package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsLagCommand struct {
	sweepFlags

	IDs bool `name:"ids" help:"Read all persistence ids, and count the events that are not handled."`
}

// Help returns the text below the help of the flags.
func (*projectionsLagCommand) Help() string {
	return "Without --ids it reads the stored positions of each projection in the stream: 1 read unit for each shard and " +
		"group. An idle projection can then show a lag of up to 5 seconds, because positions are stored every 5 seconds. " +
		"Projections that sweep have no position, so their lag needs --ids. With --ids it costs as much as verify. The lag is " +
		"then the greatest age of any persistence id's next unhandled event, or 0 if the times of events are not stored."
}

// lagResult is the lag of a projection.
type lagResult struct {
	Projection string `json:"projection"`
	// LagEvents and LagMs are null if they are not known.
	LagEvents *int64 `json:"lag_events"`
	LagMs     *int64 `json:"lag_ms"`
	// IDs and Stuck are set with --ids.
	IDs   *int `json:"ids,omitzero"`
	Stuck *int `json:"stuck,omitzero"`
	// Shards and SweepPending are set without --ids.
	Shards       []shardResult `json:"shards,omitempty"`
	SweepPending bool          `json:"sweep_owed,omitempty"`
}

// shardResult is the lag of a projection in a shard.
type shardResult struct {
	Shard  string `json:"shard"`
	Worker string `json:"worker"`
	LagMs  *int64 `json:"lag_ms"`
}

func milliseconds(d time.Duration) *int64 { return new(d.Milliseconds()) }

func (r lagResult) text() string {
	text := printable(r.Projection) + ": "
	switch {
	case r.IDs != nil && *r.IDs == 0:
		return text + "everything is handled"
	case r.IDs != nil:
		return text + fmt.Sprintf("%d events of %d persistence ids are not handled, the oldest %v old; %d are stuck",
			*r.LagEvents, *r.IDs, time.Duration(*r.LagMs)*time.Millisecond, *r.Stuck)
	case r.LagMs == nil && len(r.Shards) == 0:
		return text + "it reads no stream: use --ids to measure its lag"
	case r.LagMs == nil:
		text += "not started"
	default:
		text += fmt.Sprintf("%v behind", time.Duration(*r.LagMs)*time.Millisecond)
	}
	if r.SweepPending {
		text += ", and a sweep of all persistence ids is pending"
	}
	for _, shard := range r.Shards {
		text += "\n  " + shard.text()
	}
	return text
}

func (r shardResult) text() string {
	text := r.Shard + ": not read yet"
	if r.LagMs != nil {
		text = fmt.Sprintf("%s: %v behind", r.Shard, time.Duration(*r.LagMs)*time.Millisecond)
	}
	if r.Worker == "" {
		return text + ", no process reads it"
	}
	return text + ", read by " + r.Worker
}

// Run runs the command.
func (c *projectionsLagCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, checking, func(j *dynajournal.Journal) error {
		results := c.read
		if c.IDs {
			results = c.count
			if err := c.leftOut(ctx, s, j); err != nil {
				return err
			}
		}
		all, err := results(ctx, s, j)
		for _, r := range all {
			err = errors.Join(err, s.result.write(r))
		}
		if len(all) == 0 && err == nil {
			return s.message("no lag to show: `dynajournal projections list` lists the projections")
		}
		return err
	})
}

// count measures the lag from all persistence ids.
func (c *projectionsLagCommand) count(
	ctx context.Context, s *session, j *dynajournal.Journal,
) ([]lagResult, error) {
	shown := s.idsProgress(ctx, j, "persistence ids", 0)
	defer shown.stop()
	lag, err := operator.New(j, c.Projection).MeasureLag(ctx, c.options(shown))
	var all []lagResult
	for _, l := range lag {
		all = append(all, lagResult{
			Projection: l.Projection, LagEvents: &l.Events, LagMs: milliseconds(l.Oldest), IDs: &l.IDs, Stuck: &l.Stuck,
		})
	}
	return all, err
}

// read reads the lag from the stored positions in the stream.
func (c *projectionsLagCommand) read(
	ctx context.Context, s *session, j *dynajournal.Journal,
) ([]lagResult, error) {
	infos, err := operator.List(ctx, j)
	if err != nil {
		return nil, err
	}
	positions, err := operator.New(j, c.Projection).Positions(ctx, s.opened.streams())
	if err != nil && !errors.Is(err, projection.ErrNoStream) {
		return nil, err
	}
	var all []lagResult
	for _, info := range infos {
		if c.Projection != "" && info.Projection != c.Projection {
			continue
		}
		r := lagResult{Projection: info.Projection}
		for _, p := range positions {
			if p.Projection != info.Projection {
				continue
			}
			shard := shardResult{Shard: p.Shard, Worker: p.Worker}
			if !p.Unread {
				shard.LagMs = milliseconds(p.Delay)
				r.LagMs = new(max(*shard.LagMs, value(r.LagMs)))
			}
			r.Shards, r.SweepPending = append(r.Shards, shard), p.SweepPending
		}
		slices.SortFunc(r.Shards, func(a, b shardResult) int { return int(value(b.LagMs) - value(a.LagMs)) })
		all = append(all, r)
	}
	return all, nil
}

// value returns *n, or 0 if n is nil.
func value[T int | int64](n *T) T {
	if n == nil {
		return 0
	}
	return *n
}
