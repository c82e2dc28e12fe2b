package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	Table      string   `json:"table"`
	Status     string   `json:"status"`
	Kind       string   `json:"kind"`
	Shards     int      `json:"shards"`
	Keys       []string `json:"keys"`
	Indexes    []string `json:"indexes"`
	TTL        string   `json:"ttl"`
	TTLStatus  string   `json:"ttl_status"`
	Billing    string   `json:"billing"`
	ReadUnits  int64    `json:"read_units"`
	WriteUnits int64    `json:"write_units"`
	Stream     string   `json:"stream"`
	// FenceWindow is in seconds.
	FenceWindow int64 `json:"fence_window"`
}

// How capacity is paid for, as --billing spells it.
const (
	billingOnDemand    = "on-demand"
	billingProvisioned = "provisioned"
)

func newTableResult(t dynajournal.Table) tableResult {
	r := tableResult{
		Table: t.Name, Status: t.Status, Kind: t.Kind, Shards: t.Shards,
		Keys: []string{}, Indexes: []string{},
		TTL: t.TTL, TTLStatus: t.TTLStatus,
		Billing: billingOnDemand, ReadUnits: t.ReadUnits, WriteUnits: t.WriteUnits,
		Stream: t.Stream, FenceWindow: int64(t.FenceWindow / time.Second),
	}
	for _, k := range t.Keys {
		r.Keys = append(r.Keys, keyText(k))
	}
	for _, i := range t.Indexes {
		r.Indexes = append(r.Indexes, i.Name)
	}
	if t.WriteUnits > 0 {
		r.Billing = billingProvisioned
	}
	return r
}

// bareTable is a table of which only its name and its status are known.
func bareTable(name, status string) tableResult {
	return tableResult{Table: name, Status: status, Keys: []string{}, Indexes: []string{}}
}

func keyText(k dynajournal.KeyAttribute) string { return printable(k.Name) + " (" + k.Type + ")" }

func (r tableResult) text() string {
	parts := []string{r.Status}
	if r.Kind != "" {
		parts = append(parts, r.Kind, fmt.Sprintf("%d shards", r.Shards))
	}
	if len(r.Keys) > 0 { // it is described
		parts = append(parts, r.described()...)
	}
	return printable(r.Table) + ": " + strings.Join(parts, ", ")
}

// described are the parts of the text that a table has of which more than the name is known.
func (r tableResult) described() []string {
	parts := []string{"key " + strings.Join(r.Keys, " and ")}
	if len(r.Indexes) > 0 {
		parts = append(parts, "indexes "+strings.Join(r.Indexes, ", "))
	}
	switch {
	case r.TTL != "":
		parts = append(parts, fmt.Sprintf("items expire by %s (%s)", printable(r.TTL), r.TTLStatus))
	case r.TTLStatus != "":
		parts = append(parts, fmt.Sprintf("items do not expire (%s)", r.TTLStatus))
	}
	if r.FenceWindow > 0 {
		parts = append(parts, fmt.Sprintf("fence window %v", time.Duration(r.FenceWindow)*time.Second))
	}
	if r.Billing == billingProvisioned {
		parts = append(parts, fmt.Sprintf("provisioned: %d read and %d write units", r.ReadUnits, r.WriteUnits))
	} else {
		parts = append(parts, "on demand")
	}
	if r.Stream != "" {
		parts = append(parts, "stream of "+r.Stream)
	}
	return parts
}

// tables works with the tables, whether they exist or not.
func (s *session) tables(ctx context.Context, work func(dynajournal.Config) error) (err error) {
	p, err := s.location.open(ctx, s.err)
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
		if err := s.result.write(newTableResult(t)); err != nil {
			return err
		}
	}
	return nil
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
	if s.location.isLegacy() {
		return s.legacyTable(ctx, statusDeleted, legacy.DeleteTable)
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		names, err := dynajournal.DeleteTables(ctx, config)
		for _, name := range names {
			err = errors.Join(err, s.result.write(bareTable(name, statusDeleted)))
		}
		if err == nil && len(names) == 0 {
			return fmt.Errorf("%w: neither of them exists", dynajournal.ErrTableNotFound)
		}
		return err
	})
}
