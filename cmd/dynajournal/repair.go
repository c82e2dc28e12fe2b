package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type repairCommand struct {
	checkFlags

	DryRun           bool   `help:"Change nothing, only show what would be repaired. Default: repair."`
	RemoveOrphans    bool   `help:"Also turn events below the low mark into tombstones. Needs --archive. First make sure that the low mark is correct. Default: keep them."`
	RemoveDeleted    bool   `help:"Also remove items that hide the highest number from a JVM. Needs --archive. First stop the entity on both sides. Default: keep them."`
	RemoveIncomplete bool   `help:"Also turn members of atomic writes that can't be completed into seals. Needs --archive. Default: keep them."`
	RestoreHighMark  bool   `help:"Also write a missing high mark where events are hidden after a gap. Readers then see them again. Default: leave them hidden."`
	SealMissing      bool   `help:"Also seal numbers at which items were lost: readers continue without these events. Default: leave the numbers, so that the items can be restored."`
	Archive          string `placeholder:"FILE" help:"Write each item to this new file before it is removed, as a JSON object per line. Required to remove items. Default: none."`
}

// Help returns the text below the help of the flags.
func (*repairCommand) Help() string {
	return "Without further flags it changes only data that no reader can ever show and whose " +
		"write was never acknowledged. Every other repair needs its own flag. It shows " +
		"every finding, repaired or not. Writers may continue, except with such a flag in " +
		"a journal that is shared with a JVM. Exit status 1: damage or data loss remains."
}

// repairResult is a finding. Repaired reports whether it was repaired.
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

// usage returns an error if a flag is missing or the flags contradict each other.
func (c *repairCommand) usage() error {
	removes := c.RemoveOrphans || c.RemoveDeleted || c.RemoveIncomplete
	switch {
	case !c.All && len(c.PersistenceIDs) == 0:
		return usagef("give persistence ids, or --all")
	case removes && c.Archive == "" && !c.DryRun:
		return usagef("--remove-orphans, --remove-deleted and --remove-incomplete need --archive FILE, to which removed items are written first")
	case c.Archive != "" && !removes:
		return usagef("--archive is for --remove-orphans, --remove-deleted and --remove-incomplete: nothing else is removed")
	}
	return c.checkFlags.usage()
}

// Run runs the command.
func (c *repairCommand) Run(ctx context.Context, s *session) (err error) {
	if err := c.usage(); err != nil {
		return err
	}
	opts := dynajournal.VerifyOptions{
		DryRun:           c.DryRun,
		RemoveOrphans:    c.RemoveOrphans,
		RemoveDeleted:    c.RemoveDeleted,
		RemoveIncomplete: c.RemoveIncomplete,
		RestoreHighMark:  c.RestoreHighMark,
		SealMissing:      c.SealMissing,
	}
	if c.Archive != "" && !c.DryRun {
		removed, err := createRemovedItems(c.Archive)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removed.close()) }()
		opts.Archive = removed.add
	}
	return s.currentJournal(ctx, checking, func(j *dynajournal.Journal) error { return c.repair(ctx, s, j, opts) })
}

func (c *repairCommand) repair(
	ctx context.Context, s *session, j *dynajournal.Journal, opts dynajournal.VerifyOptions,
) error {
	repaired, left, bad := 0, severityCounts(nil), false
	count, err := c.check(ctx, s, j, findings{j.Repair, j.RepairAll}, opts, func(f dynajournal.Finding) error {
		if f.Repaired {
			repaired++
		} else {
			left.add(f.Severity)
			bad = bad || f.Severity.AtLeast(dynajournal.SeverityDamage)
		}
		return s.result.write(repairResult{newFindingResult(f), f.Repaired})
	})
	switch {
	case err != nil:
		return err
	case bad:
		return fmt.Errorf("checked %d persistence ids, repaired %d findings, left %s", count, repaired, left)
	case len(left) > 0:
		return s.message("checked %d persistence ids, repaired %d findings, left %s", count, repaired, left)
	}
	return s.message("checked %d persistence ids, repaired %d findings", count, repaired)
}
