package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type tablesCommand struct {
	Create   tablesCreateCommand   `cmd:"" help:"Create the journal table, with the journal's header, and the snapshot table."`
	Update   tablesUpdateCommand   `cmd:"" help:"Add what an existing journal table lacks: the index of persistence ids, expiry, and what projections need."`
	Describe tablesDescribeCommand `cmd:"" help:"Describe the tables that exist."`
	Delete   tablesDeleteCommand   `cmd:"" help:"Delete the tables, with everything in them."`
}

// tables passes the configuration to work, which creates, describes or changes the tables.
func (s *session) tables(ctx context.Context, work func(dynajournal.Config) error) (err error) {
	c, err := s.location.open(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return work(c.config)
}

// describe writes a result for each table. It returns an error if no table exists.
func (s *session) describe(ctx context.Context, c dynajournal.Config) error {
	tables, err := dynajournal.DescribeTables(ctx, c)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		return fmt.Errorf("%w: neither the journal table nor the snapshot table exists %s: make them with `dynajournal tables create`",
			dynajournal.ErrTableNotFound, s.location.place())
	}
	for _, t := range tables {
		if err := s.result.write(newTableResult(t)); err != nil {
			return err
		}
	}
	return nil
}
