package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Info describes a projection in the registry.
type Info struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// Kind is at-least-once, transactional or sql. Source is streams, sweep or lambda.
	Kind, Source string
	// Processes counts the processes that run the projection. A crashed process counts for up to 3
	// minutes.
	Processes int
	// Seen is when a process last reported that it runs the projection, by the clock of that
	// process.
	Seen time.Time
	// Resetting reports whether an [Operator.Reset] or an [Operator.Remove] was interrupted: it
	// must be called again.
	Resetting bool
	// SweepPending reports whether a sweep of all persistence ids is still pending, on Lambda by
	// awslambda.Maintain. For a group with [projection.Streams] see [Position].
	SweepPending bool
	// Paused is when [Operator.Pause] paused the projection, by the clock of the program that
	// called it. It is zero if the projection is not paused.
	Paused time.Time

	// Prefixes are the prefixes of [projection.OnlyIDs]. They are empty if the projection takes all
	// persistence ids.
	Prefixes []string
}

// infoOf returns the public form of a registered projection.
func infoOf(of engine.Info) Info {
	return Info{
		Projection: of.Projection, Kind: of.Kind, Source: of.Source, Processes: of.Processes, Seen: of.Seen,
		Resetting: of.Resetting, SweepPending: of.SweepPending, Paused: of.Paused, Prefixes: of.Prefixes,
	}
}

// List returns all projections that a group of the journal has ever run, sorted by name. It costs 1
// read unit for each, and does not scan. For the registry, a group writes 1 unit for each
// projection when it starts, when it stops, and once a minute. Every 10 seconds it reads 1 unit,
// and half a unit for each projection.
//
// Errors: a *dynajournal.ArgumentError, and errors of requests.
func List(ctx context.Context, journal *dynajournal.Journal) ([]Info, error) {
	infos, err := list(ctx, journal)
	var all []Info
	for _, of := range infos {
		all = append(all, infoOf(of))
	}
	return all, err
}

// list returns the projections of the registry.
func list(ctx context.Context, journal *dynajournal.Journal) ([]engine.Info, error) {
	if journal == nil {
		return nil, engine.Argument("journal", nil, "it must be an open journal")
	}
	infos, err := engine.OpenTable(journal).List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list projections: %w", err)
	}
	return infos, nil
}
