package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/doctor"
)

type doctorCommand struct {
	Role     []doctor.Role `enum:"service,projections,reader" default:"service" help:"What the program does: service, projections or reader. Can be repeated. Default: ${default}."`
	Regions  []string      `placeholder:"REGION" help:"Look up missing tables in these Regions."`
	FirstRun bool          `name:"first-run" help:"Instead, try what dynajournal assumes of the service, on tables of its own. On AWS: about a minute, less than a cent."`
	Report   string        `placeholder:"FILE" help:"With --first-run: also write the results into a new file for a bug report, without account numbers and keys."`
	Strict   bool          `help:"Also fail if there is a warning, or a check that could not be made."`
}

// Help returns the text below the help of the flags.
func (*doctorCommand) Help() string {
	return "It checks tables, header, permissions, clock, latency, snapshots and the registry of projections, and " +
		"changes nothing. It uses at most 150 read units and 12 write units. Exit status 1: at least one error, " +
		"or with --strict at least one warning or unknown check."
}

// checkResult is the result of a check.
type checkResult struct {
	Check  string        `json:"check"`
	Status doctor.Status `json:"status"`
	Found  string        `json:"found"`
	Want   string        `json:"want"`
	Fix    string        `json:"fix"`
	Docs   string        `json:"docs"`
	Needs  string        `json:"needs"`
}

func (r checkResult) text() string {
	status := string(r.Status)
	switch r.Status {
	case doctor.StatusError:
		status = "ERROR"
	case doctor.StatusUnknown:
		status = "?"
	case doctor.StatusOK, doctor.StatusWarn:
	}
	text := fmt.Sprintf("%-5s  %s  %s", status, printable(r.Check), oneLine(r.Found))
	var more []string
	if r.Want != "" {
		more = append(more, "want "+oneLine(r.Want))
	}
	if r.Fix != "" {
		more = append(more, oneLine(r.Fix))
	}
	if r.Needs != "" {
		more = append(more, "needs "+oneLine(r.Needs))
	}
	if r.Docs != "" {
		more = append(more, "docs/"+r.Docs)
	}
	if len(more) == 0 {
		return text
	}
	return text + " — " + strings.Join(more, "; ")
}

// summaryResult counts the results of all checks.
type summaryResult struct {
	Summary summary `json:"summary"`
}

type summary struct {
	OK      int `json:"ok"`
	Warn    int `json:"warn"`
	Error   int `json:"error"`
	Unknown int `json:"unknown"`
}

func (r summaryResult) text() string {
	return fmt.Sprintf("%d ok, %d warnings, %d errors, %d unknown", r.Summary.OK, r.Summary.Warn, r.Summary.Error, r.Summary.Unknown)
}

// Run runs the command.
func (c *doctorCommand) Run(ctx context.Context, s *session) error {
	if c.FirstRun {
		return c.firstRun(ctx, s)
	}
	if c.Report != "" {
		return usagef("--report needs --first-run")
	}
	return s.tables(ctx, func(config dynajournal.Config) error {
		counts := statusCounts{}
		for _, of := range doctor.Run(ctx, config, doctor.Options{Roles: c.Role, Regions: c.Regions}) {
			counts[of.Status]++
			if err := s.result.write(checkResult{of.Name, of.Status, of.Found, of.Want, of.Fix, of.Docs, of.Needs}); err != nil {
				return err
			}
		}
		sum := counts.summary()
		if err := s.result.write(summaryResult{sum}); err != nil {
			return err
		}
		return c.judge(sum)
	})
}

// judge returns an error if the results fail.
func (c *doctorCommand) judge(sum summary) error {
	switch {
	case sum.Error > 0:
		return fmt.Errorf("%d of %d checks found an error", sum.Error, sum.OK+sum.Warn+sum.Error+sum.Unknown)
	case c.Strict && sum.Warn+sum.Unknown > 0:
		return fmt.Errorf("%d warnings and %d unknown checks", sum.Warn, sum.Unknown)
	}
	return nil
}

// statusCounts counts results by their status.
type statusCounts map[doctor.Status]int

func (n statusCounts) summary() summary {
	return summary{n[doctor.StatusOK], n[doctor.StatusWarn], n[doctor.StatusError], n[doctor.StatusUnknown]}
}
