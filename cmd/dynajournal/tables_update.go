package main

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
)

type tablesUpdateCommand struct {
	Projections bool `help:"Also create the table that package projection needs."`
	Stream      bool `help:"Also enable a stream on the journal table: projections read the stream."`
}

// Help returns the text below the help of the flags.
func (*tablesUpdateCommand) Help() string {
	return "It raises the format version of a native journal of an earlier version: stop all processes " +
		"of that version first, and wait 15 minutes afterwards. This can't be undone. It " +
		"reports on stderr what it has added, and the running costs of each addition. It waits until " +
		"the index is filled from the stored items, which takes long for a large table. Then it " +
		"describes the tables. A stream costs writers nothing. DynamoDB bills each request of " +
		"the stream's readers (GetRecords), except requests of AWS Lambda: an idle projection sends " +
		"4 requests a second for each shard, unless StreamsOptions.Poll sets another interval."
}

// Run runs the command.
func (c *tablesUpdateCommand) Run(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) error {
		changes, err := dynajournal.UpdateTables(ctx, config, dynajournal.UpdateOptions(*c))
		for _, added := range changes {
			err = errors.Join(err,
				s.message("%s: added %s; it costs %s", printable(added.Table), added.Added, added.Costs))
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
