package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// checkFlags has the flags that select the persistence ids to check, and the speed.
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

// findingResult is a problem in the stored data.
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

// findings has the method that checks one persistence id, and the method that checks all of them.
type findings struct {
	one func(context.Context, string, dynajournal.VerifyOptions) iter.Seq2[dynajournal.Finding, error]
	all func(context.Context, dynajournal.VerifyOptions) iter.Seq2[dynajournal.Finding, error]
}

// check checks the persistence ids of the flags and calls found for each finding. It returns the
// number of checked persistence ids.
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

	Severity dynajournal.Severity `enum:"left-over,damage,data-loss" default:"damage" help:"Lowest severity of exit status 1: left-over, damage or data-loss. Default: ${default}."`
}

// Help returns the text below the help of the flags.
func (*verifyCommand) Help() string {
	return "Without persistence ids it checks all of them. It changes nothing, and shows all findings. " +
		"A finding of severity left-over is harmless: a write that was refused or interrupted has " +
		"left it. Damage and data loss need a decision: docs/operations.md explains each kind of " +
		"finding. Data that is being written can look like damage, so check again before you act on a " +
		"finding. On a terminal, a check of all persistence ids lists them first, to show the total."
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

// severityCounts counts the findings of each severity.
type severityCounts map[dynajournal.Severity]int

func (c *severityCounts) add(s dynajournal.Severity) {
	if *c == nil {
		*c = severityCounts{}
	}
	(*c)[s]++
}

// String lists the counts that are not zero, the worst severity first.
func (c severityCounts) String() string {
	var parts []string
	for _, s := range slices.Backward(dynajournal.Severities()) {
		if c[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
