package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsResetCommand struct {
	Projection string  `arg:"" help:"Projection, as group/name."`
	Yes        bool    `help:"Confirm that all events are handled again. Required."`
	Running    bool    `help:"Reset the projection even while processes run it. Handlers may then overlap."`
	ReadUnits  float64 `placeholder:"N" help:"Use at most N read capacity units per second on average. Default: no limit."`
}

// Help returns the text below the help of the flags.
func (*projectionsResetCommand) Help() string {
	return "Stop the processes of the group first, and remove what the handlers have written. The command scans the table " +
		"of projections, and deletes the rows of the projection: 1 read unit for each 4 KB of the table, and 1 write " +
		"unit for each row. If it is interrupted, run it again: the group does not start before the reset is complete."
}

// resetResult is a projection that was reset.
type resetResult struct {
	Projection string `json:"projection"`
	Rows       int64  `json:"rows"`
}

func (r resetResult) text() string {
	return fmt.Sprintf("%s: deleted %d rows: it restarts from the first events", printable(r.Projection), r.Rows)
}

// Run runs the command.
func (c *projectionsResetCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("projection %s would handle all events again: confirm with --yes", c.Projection)
	}
	return s.projections(ctx, checking, func(j *dynajournal.Journal) error {
		shown := newProgress(s.err, "rows deleted")
		defer shown.stop()
		rows, err := operator.New(j, c.Projection).Reset(ctx, operator.ResetOptions{
			Progress: shown.set, Running: c.Running,
			ScanOptions: operator.ScanOptions{ReadUnitsPerSecond: c.ReadUnits},
		})
		if err != nil {
			return err
		}
		return s.result.write(resetResult{c.Projection, rows})
	})
}
