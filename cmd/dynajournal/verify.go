package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// checkFlags are the flags that select what to check, and how fast.
type checkFlags struct {
	PersistenceIDs []string `arg:"" optional:"" name:"pid" help:"Persistence ids to check."`
	All            bool     `help:"Check all persistence ids, which a scan of the table finds."`
	ReadUnits      float64  `placeholder:"N" help:"Use at most N read capacity units per second on average. Default: no limit."`
	Parallel       int      `default:"10" placeholder:"N" help:"When checking all: check N persistence ids at the same time. Default: ${default}."`
}

// usage returns an error if the flags contradict each other.
func (c *checkFlags) usage() error {
	if c.All && len(c.PersistenceIDs) > 0 {
		return usagef("give persistence ids, or --all")
	}
	if c.Parallel < 1 {
		return usagef("--parallel must be at least 1")
	}
	return nil
}

// findingResult is something in the stored data that is wrong.
type findingResult struct {
	PersistenceID string                  `json:"persistence_id"`
	Kind          dynajournal.FindingKind `json:"kind"`
	Severity      dynajournal.Severity    `json:"severity"`
	SequenceNr    int64                   `json:"sequence_nr"`
	Detail        string                  `json:"detail"`
	Repairable    bool                    `json:"repairable"`

	option dynajournal.RepairOption
}

func newFindingResult(f dynajournal.Finding) findingResult {
	detail := f.Detail
	if f.Option != "" && !f.Repairable {
		detail += "; only by `repair --" + string(f.Option) + "`"
	}
	return findingResult{f.PersistenceID, f.Kind, f.Severity, f.SequenceNumber, detail, f.Repairable, f.Option}
}

func (r findingResult) line(state string) string {
	return fmt.Sprintf("%s: %s at %d: %s (%s, %s)", printable(r.PersistenceID), r.Kind, r.SequenceNr,
		oneLine(r.Detail), r.Severity, state)
}

func (r findingResult) text() string {
	switch {
	case r.Repairable:
		return r.line("repairable")
	case r.option != "":
		return r.line("repairable by flag")
	}
	return r.line("not repairable")
}

// findings are the methods that check one persistence id, and all of them.
type findings struct {
	one func(context.Context, string, dynajournal.VerifyOptions) iter.Seq2[dynajournal.Finding, error]
	all func(context.Context, dynajournal.VerifyOptions) iter.Seq2[dynajournal.Finding, error]
}

// check checks the persistence ids of the flags and calls found for each finding. It returns how
// many persistence ids were checked.
func (c *checkFlags) check(
	ctx context.Context, s *session, j *dynajournal.Journal, f findings, opts dynajournal.VerifyOptions, found func(dynajournal.Finding) error,
) (int, error) {
	shown := s.idsProgress(ctx, j, "persistence ids checked", len(c.PersistenceIDs))
	defer shown.stop()
	count := 0
	opts.ReadUnitsPerSecond, opts.Parallelism = c.ReadUnits, c.Parallel
	over := func(string) {
		count++
		shown.count()
	}
	each := func(all iter.Seq2[dynajournal.Finding, error]) error {
		for finding, err := range all {
			if err != nil {
				return err
			}
			if err := found(finding); err != nil {
				return err
			}
		}
		return nil
	}
	if len(c.PersistenceIDs) == 0 {
		opts.Progress = over
		err := each(f.all(ctx, opts))
		return count, err
	}
	for _, pid := range c.PersistenceIDs {
		if err := each(f.one(ctx, pid, opts)); err != nil {
			return count, err
		}
		over(pid)
	}
	return count, nil
}

type verifyCommand struct {
	checkFlags

	Severity dynajournal.Severity `enum:"left-over,damage,data-loss" default:"damage" help:"Exit with 1 from this one upward: left-over, damage or data-loss. Default: ${default}."`
}

// Help returns the text below the help of the flags.
func (*verifyCommand) Help() string {
	return "Without persistence ids it checks all of them. It changes nothing. It shows everything that it " +
		"finds. What is left over harms nobody: a write that was refused or cut short has left it. Damage and " +
		"data loss need somebody: the page on operations has each kind. Data that is being written can look " +
		"like damage, so check again before you act on a finding. On a terminal it lists the persistence ids " +
		"first, for the total."
}

// Run runs the command.
func (c *verifyCommand) Run(ctx context.Context, s *session) error {
	if err := c.usage(); err != nil {
		return err
	}
	return s.currentJournal(ctx, checking, func(j *dynajournal.Journal) error {
		var found severityCounts
		bad, repairable, byFlag := false, 0, 0
		count, err := c.check(ctx, s, j, findings{j.Verify, j.VerifyAll}, dynajournal.VerifyOptions{}, func(f dynajournal.Finding) error {
			found.add(f.Severity)
			bad = bad || f.Severity.AtLeast(c.Severity)
			switch {
			case f.Repairable:
				repairable++
			case f.Option != "":
				byFlag++
			}
			return s.result.write(newFindingResult(f))
		})
		switch {
		case err != nil:
			return err
		case bad:
			return fmt.Errorf("found %s in %d persistence ids: `dynajournal repair` can repair %d, and %d more by its flags",
				found, count, repairable, byFlag)
		case len(found) > 0:
			return s.message("checked %d persistence ids, found %s", count, found)
		}
		return s.message("checked %d persistence ids, found nothing", count)
	})
}

// severityCounts is how many findings there are of each severity.
type severityCounts map[dynajournal.Severity]int

func (c *severityCounts) add(s dynajournal.Severity) {
	if *c == nil {
		*c = severityCounts{}
	}
	(*c)[s]++
}

// String lists the severities of which there are findings, the worst first.
func (c severityCounts) String() string {
	var parts []string
	for _, s := range slices.Backward(dynajournal.Severities()) {
		if c[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
