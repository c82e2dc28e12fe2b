package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type repairCommand struct {
	checked

	DryRun bool `help:"Change nothing, only show what would be repaired."`
}

// Help is shown below the flags' help.
func (*repairCommand) Help() string {
	return "It shows every finding, repaired or not. Writers need not be stopped. Exit status 1 says that something is left."
}

// repairResult is a finding, and what became of it.
type repairResult struct {
	findingResult

	Repaired bool `json:"repaired"`
}

func (r repairResult) text() string {
	if r.Repaired {
		return r.line("repaired")
	}
	return r.findingResult.text()
}

// Run runs the command.
func (c *repairCommand) Run(ctx context.Context, s *session) error {
	if err := c.usage(); err != nil {
		return err
	}
	if !c.All && len(c.PersistenceIDs) == 0 {
		return usagef("give persistence ids, or --all")
	}
	return s.journal(ctx, checking, func(j *dynajournal.Journal) error {
		repaired, left := 0, 0
		opts := dynajournal.VerifyOptions{DryRun: c.DryRun}
		count, err := c.check(ctx, s, findings{j.Repair, j.RepairAll}, opts, func(f dynajournal.Finding) error {
			if f.Repaired {
				repaired++
			} else {
				left++
			}
			return s.result.write(repairResult{newFindingResult(f), f.Repaired})
		})
		switch {
		case err != nil:
			return err
		case left > 0:
			return fmt.Errorf("of %d findings in %d persistence ids %d are repaired, %d are left", repaired+left, count, repaired, left)
		}
		return s.message("checked %d persistence ids, repaired %d findings", count, repaired)
	})
}
