package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
)

type tablesDescribeCommand struct{}

// Run runs the command.
func (*tablesDescribeCommand) Run(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) error { return s.describe(ctx, config) })
}
