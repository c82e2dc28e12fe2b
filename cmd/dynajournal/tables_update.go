package main

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
)

type tablesUpdateCommand struct{}

// Help returns the text below the help of the flags.
func (*tablesUpdateCommand) Help() string {
	return "It reports on stderr what it has added, and what that costs from now on. It waits until the index " +
		"is filled from the stored items, which takes long for a large table. Then it describes the tables."
}

// Run runs the command.
func (*tablesUpdateCommand) Run(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) error {
		changes, err := dynajournal.UpdateTables(ctx, config)
		for _, c := range changes {
			err = errors.Join(err, s.message("%s: added %s; it costs %s", printable(c.Table), c.Added, c.Costs))
		}
		if err == nil && len(changes) == 0 {
			err = s.message("nothing was missing")
		}
		if err != nil {
			return err
		}
		return s.describe(ctx, config)
	})
}
