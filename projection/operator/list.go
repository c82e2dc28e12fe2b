package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Info is what is known of a projection.
type Info struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// Kind is at-least-once, transactional or sql, Source streams, sweep or lambda.
	Kind, Source string
	// Processes is how many processes run it. One that has crashed counts for up to 3 minutes.
	Processes int
	// Seen is when a process has last said that it runs it, by the clock of that process.
	Seen time.Time
	// Resetting reports whether a [Operator.Reset] or a [Operator.Remove] was interrupted: it must
	// be called again.
	Resetting bool
	// Owed reports whether all persistence ids are still to be looked at, on Lambda by
	// awslambda.Maintain. Of a group with [projection.Streams] see [Position].
	Owed bool

	// Prefixes are those of OnlyIDs, none if the projection takes all persistence ids.
	Prefixes []string
}

// infoOf returns what the registry has of a projection.
func infoOf(of engine.Info) Info {
	return Info{
		Projection: of.Projection, Kind: of.Kind, Source: of.Source, Processes: of.Processes, Seen: of.Seen,
		Resetting: of.Resetting, Owed: of.Owed, Prefixes: of.Prefixes,
	}
}

// List returns the projections that a group of the journal has ever run, sorted by name. It reads 1
// read unit for each, and does not scan. A group writes 1 unit for each projection when it begins,
// when it ends, and once a minute. Every 10 seconds it reads 1 unit, and half a unit for each
// projection.
//
// Errors: a *dynajournal.ArgumentError, and those of requests.
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
