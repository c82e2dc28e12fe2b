package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

type tablesDeleteCommand struct {
	Yes bool `help:"Confirm that the tables are deleted with all journals in them. Required."`
}

// statusDeleted is the status of a deleted table, for which DynamoDB does not have a status.
const statusDeleted = "DELETED"

// Run runs the command.
func (c *tablesDeleteCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("this deletes the tables with all journals in them: confirm with --yes")
	}
	if s.location.isLegacy() {
		return s.legacyTable(ctx, statusDeleted, legacy.DeleteTable)
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		names, err := dynajournal.DeleteTables(ctx, config)
		for _, name := range names {
			err = errors.Join(err, s.result.write(bareTable(name, statusDeleted)))
		}
		if err == nil && len(names) == 0 {
			return fmt.Errorf("%w: neither the journal table nor the snapshot table exists %s", dynajournal.ErrTableNotFound, s.location.place())
		}
		return err
	})
}
