package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type tablesDescribeCommand struct{}

// Help returns the text below the help of the flags.
func (*tablesDescribeCommand) Help() string {
	return "DynamoDB counts items and bytes about every six hours. With --config FILE it compares " +
		"the file, an application.conf of the JVM, with the tables and the journal's header. It " +
		"prints each difference on a line: the setting in FILE / the value found / what to do. " +
		"Exit status 1: at least one difference matters. Differences shown as notes do not matter."
}

// Run runs the command.
func (*tablesDescribeCommand) Run(ctx context.Context, s *session) error {
	path, file, err := s.location.plugins()
	if err != nil {
		return err
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		if path == "" {
			return s.describe(ctx, config)
		}
		return s.compare(ctx, config, path, file.Config)
	})
}

// compare describes the tables, and compares them with the configuration file of a JVM.
func (s *session) compare(
	ctx context.Context, used dynajournal.Config, path string, file dynajournal.Config,
) error {
	tables, err := dynajournal.DescribeTables(ctx, used)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := s.result.write(newTableResult(t)); err != nil {
			return err
		}
	}
	matter, c := 0, comparison{path: path, file: newSettings(file), used: newSettings(used)}
	differences := c.compare(tables)
	for _, d := range differences {
		if d.Matters {
			matter++
		}
		if err := s.result.write(d); err != nil {
			return err
		}
	}
	switch matter {
	case 0:
		if len(differences) > 0 {
			return s.message("%s agrees with the tables in all that matters", printable(path))
		}
		return s.message("%s agrees with the tables", printable(path))
	case 1:
		return fmt.Errorf("%s differs from the tables in 1 point that matters", printable(path))
	default:
		return fmt.Errorf("%s differs from the tables in %d points that matter", printable(path), matter)
	}
}
