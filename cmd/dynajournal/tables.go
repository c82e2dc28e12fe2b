package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

type tablesCommand struct {
	Create   tablesCreateCommand   `cmd:"" help:"Make the journal table, with the journal's header, and the snapshot table."`
	Update   tablesUpdateCommand   `cmd:"" help:"Add what an existing journal table lacks: the index of persistence ids, and expiry."`
	Describe tablesDescribeCommand `cmd:"" help:"Describe the tables that exist."`
	Delete   tablesDeleteCommand   `cmd:"" help:"Delete both tables, with everything in them."`
}

// tableResult is a table.
type tableResult struct {
	Table   string   `json:"table"`
	Status  string   `json:"status"`
	Kind    string   `json:"kind"`
	Shards  int      `json:"shards"`
	Indexes []string `json:"indexes"`
}

func (r tableResult) text() string {
	text := fmt.Sprintf("%s: %s", printable(r.Table), r.Status)
	if r.Kind != "" {
		text += fmt.Sprintf(", %s, %d shards", r.Kind, r.Shards)
	}
	if len(r.Indexes) > 0 {
		text += ", indexes " + strings.Join(r.Indexes, ", ")
	}
	return text
}

// tables works with the tables, whether they exist or not.
func (s *session) tables(ctx context.Context, work func(dynajournal.Config) error) (err error) {
	p, err := s.where.open(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return work(p.config)
}

// describe writes what the tables are; that there are none is an error.
func (s *session) describe(ctx context.Context, c dynajournal.Config) error {
	tables, err := dynajournal.DescribeTables(ctx, c)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	if len(tables) == 0 {
		return fmt.Errorf("%w: neither of them exists: make them with `dynajournal tables create`", dynajournal.ErrTableNotFound)
	}
	for _, t := range tables {
		if err := s.result.write(tableResult{t.Name, t.Status, t.Kind, t.Shards, present(t.Indexes)}); err != nil {
			return err
		}
	}
	return nil
}

type tablesCreateCommand struct {
	SharedWithJVM bool   `name:"shared-with-jvm" help:"For use with Akka's or Pekko's plug-in, with its indexes and 10 shards. Default: native, 1 shard."`
	Billing       string `enum:"on-demand,provisioned" default:"on-demand" help:"How capacity is paid for: ${enum}."`
	RCU           int64  `name:"rcu" placeholder:"N" help:"Read capacity units, if provisioned, of each table and index."`
	WCU           int64  `name:"wcu" placeholder:"N" help:"Write capacity units, if provisioned, of each table and index."`
}

// Run runs the command.
func (c *tablesCreateCommand) Run(ctx context.Context, s *session) error {
	provisioned := c.Billing == "provisioned"
	if provisioned && (c.RCU < 1 || c.WCU < 1) {
		return usagef("--billing provisioned needs --rcu and --wcu, of at least 1")
	}
	if !provisioned && (c.RCU != 0 || c.WCU != 0) {
		return usagef("--rcu and --wcu need --billing provisioned")
	}
	if s.where.isOlder() {
		if c.SharedWithJVM || provisioned {
			return usagef("tables of --layout %s are made on demand, as they are", s.where.Layout)
		}
		return s.olderTable(ctx, string(types.TableStatusActive), legacy.CreateTable)
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		opts := dynajournal.TableOptions{SharedWithJVM: c.SharedWithJVM, ReadUnits: c.RCU, WriteUnits: c.WCU}
		if err := dynajournal.CreateTables(ctx, config, opts); err != nil {
			return err //nolint:wrapcheck // says what it is
		}
		return s.describe(ctx, config)
	})
}

type tablesUpdateCommand struct{}

// Help is shown below the flags' help.
func (*tablesUpdateCommand) Help() string {
	return "It says on stderr what it has added, and what that costs from now on. It waits until the index is filled from what is there, which takes long for a " +
		"large table. Then the tables are described."
}

// Run runs the command.
func (*tablesUpdateCommand) Run(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) error {
		changes, err := dynajournal.UpdateTables(ctx, config)
		for _, c := range changes {
			err = errors.Join(err, s.message("%s: added %s; it costs %s", printable(c.Table), c.Added, c.Costs))
		}
		if err == nil && len(changes) == 0 {
			err = s.message("nothing was lacking")
		}
		if err != nil {
			return err
		}
		return s.describe(ctx, config)
	})
}

type tablesDescribeCommand struct{}

// Run runs the command.
func (*tablesDescribeCommand) Run(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) error { return s.describe(ctx, config) })
}

type tablesDeleteCommand struct {
	Yes bool `help:"Really do it: all journals in these tables are gone."`
}

// statusDeleted is the status of a table that is no more, as DynamoDB has none for it.
const statusDeleted = "DELETED"

// Run runs the command.
func (c *tablesDeleteCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("it deletes the tables with all journals in them: say --yes")
	}
	if s.where.isOlder() {
		return s.olderTable(ctx, statusDeleted, legacy.DeleteTable)
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		names, err := dynajournal.DeleteTables(ctx, config)
		for _, name := range names {
			err = errors.Join(err, s.result.write(tableResult{Table: name, Status: statusDeleted, Indexes: []string{}}))
		}
		if err == nil && len(names) == 0 {
			return fmt.Errorf("%w: neither of them exists", dynajournal.ErrTableNotFound)
		}
		return err
	})
}
