package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
)

type idsCommand struct {
	After    string `placeholder:"PID" help:"Continue after this persistence id, the last one of an earlier list. Default: from the beginning."`
	Limit    *int   `placeholder:"N" help:"List at most N; 0 lists none. Default: all."`
	Prefix   string `placeholder:"P" help:"List only persistence ids that begin with P. Default: all."`
	Sorted   bool   `help:"Sort by bytes. The index of a native journal is already sorted. Otherwise the command collects all ids in memory first."`
	Scan     bool   `help:"Read the whole table instead of the index, which may lag behind."`
	Details  bool   `help:"Add the number of events of each id, and the time of its last event, where it is stored. Costs as much per id as highest and reading one event."`
	Segments int    `default:"1" placeholder:"N" help:"With a scan: read N parts of the table at once. With more than 1, --after can't continue the list. Default: ${default}."`
}

// Help returns the text below the help of the flags.
func (*idsCommand) Help() string {
	return "Each persistence id is listed once, even if all its events are deleted. Purged " +
		"persistence ids are not listed. The index may lag behind for a moment; --scan does not."
}

// idResult is a persistence id.
type idResult struct {
	PersistenceID string `json:"persistence_id"`
}

func (r idResult) text() string { return printable(r.PersistenceID) }

// Run runs the command.
func (c *idsCommand) Run(ctx context.Context, s *session) error {
	if err := c.usage(s.location); err != nil {
		return err
	}
	opts := dynajournal.IDsOptions{After: c.After, Prefix: c.Prefix, Sorted: c.Sorted, Scan: c.Scan,
		Segments: c.Segments}
	if c.Limit != nil {
		opts.Limit = *c.Limit
	}
	return s.journal(ctx, reading, func(j journal) error {
		if c.Limit != nil && *c.Limit == 0 {
			return nil
		}
		for pid, err := range j.CurrentPersistenceIDs(ctx, opts) {
			if err != nil {
				return err
			}
			shown, err := c.shown(ctx, j, pid)
			if err != nil {
				return err
			}
			if err := s.result.write(shown); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *idsCommand) usage(l *location) error {
	switch {
	case c.Segments < 1:
		return usagef("--segments must be at least 1")
	case c.Limit != nil && *c.Limit < 0:
		return usagef("--limit must not be negative")
	case l.isLegacy() && (c.After != "" || c.Prefix != "" || c.Sorted):
		return usagef("--layout %s lists persistence ids by a scan, unsorted: --after, --prefix and --sorted need --layout %s",
			l.Layout, layoutCurrent)
	}
	return nil
}

// shown returns the result that the command prints for a persistence id.
func (c *idsCommand) shown(ctx context.Context, j journal, pid string) (result, error) {
	if c.Details {
		return details(ctx, j, pid)
	}
	return idResult{pid}, nil
}
