package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsRemoveCommand struct {
	Projection string  `arg:"" help:"Projection, as group/name."`
	Yes        bool    `help:"Confirm that the offsets are lost. Required."`
	ReadUnits  float64 `placeholder:"N" help:"Use at most N read capacity units per second on average. Default: no limit."`
}

// Help returns the text below the help of the flags.
func (*projectionsRemoveCommand) Help() string {
	return "First stop all processes that run the projection. The command scans the table of " +
		"projections, and deletes the items of the projection: 1 read unit for each 4 KB " +
		"of the table, and 1 write unit for each item. If it is interrupted, run it again. " +
		"It does not touch what the handlers have written, or offsets in a SQL database."
}

// removeResult is a removed projection.
type removeResult struct {
	Projection string `json:"projection"`
	// Items counts the deleted items of the projections table, without the registration of the
	// projection.
	Items int64 `json:"items"`
}

func (r removeResult) text() string {
	return fmt.Sprintf("%s: removed, with %d items", printable(r.Projection), r.Items)
}

// Run runs the command.
func (c *projectionsRemoveCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("projection %s would lose its offsets: confirm with --yes", c.Projection)
	}
	return s.projections(ctx, checking, func(j *dynajournal.Journal) error {
		shown := newProgress(s.err, "items deleted")
		defer shown.stop()
		items, err := operator.New(j, c.Projection).Remove(ctx, operator.RemoveOptions{
			Progress: shown.set, ScanOptions: operator.ScanOptions{ReadUnitsPerSecond: c.ReadUnits},
		})
		if err != nil {
			return err
		}
		return s.result.write(removeResult{c.Projection, items})
	})
}
