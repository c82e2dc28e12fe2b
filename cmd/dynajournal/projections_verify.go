package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// sweepFlags are the flags of a command that reads all persistence ids.
type sweepFlags struct {
	Projection string  `arg:"" optional:"" help:"Projection, as group/name. Default: all."`
	PerSecond  float64 `default:"100" placeholder:"N" help:"Read at most N persistence ids per second, -1 for no limit. Default: ${default}."`
}

// leftOut prints the projections that the command leaves out because their offsets are not in the
// table of projections. If the command names such a projection, package operator returns an error
// instead.
func (c *sweepFlags) leftOut(ctx context.Context, s *session, j *dynajournal.Journal) error {
	if c.Projection != "" {
		return nil
	}
	infos, err := operator.List(ctx, j)
	if err != nil {
		return err
	}
	var names []string
	for _, info := range infos {
		if info.Kind != "at-least-once" && info.Kind != "transactional" {
			names = append(names, fmt.Sprintf("%s (%s)", printable(info.Projection), info.Kind))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return s.message("left out, because their offsets are in their own database: %s. Their programs can measure the "+
		"lag with operator.MeasureLag", strings.Join(names, ", "))
}

// options returns the options of a sweep whose progress is shown.
func (c *sweepFlags) options(shown *progress) operator.AuditOptions {
	return operator.AuditOptions{PerSecond: c.PerSecond, Progress: func(ids int) { shown.set(int64(ids)) }}
}

type projectionsVerifyCommand struct {
	sweepFlags

	MinAge time.Duration `default:"1m" placeholder:"D" help:"Ignore younger events, which may still be on their way. Default: ${default}."`
}

// Help returns the text below the help of the flags.
func (*projectionsVerifyCommand) Help() string {
	return "It changes nothing. Kinds of findings: behind and no-row (events are not handled), ahead (the " +
		"offset is beyond the last event), other-life (a purge is not handled, or the event at the " +
		"offset is missing or has another writer), stuck, unreadable. Exit status 1: something was found. " +
		"It costs 4 read units for each persistence id and projection, more in a journal that is shared with " +
		"a JVM. On a terminal it also lists the persistence ids once, to show the total."
}

// auditResult is a finding of an audit.
type auditResult struct {
	Projection    string               `json:"projection"`
	PersistenceID string               `json:"persistence_id"`
	SequenceNr    int64                `json:"sequence_nr"`
	LagEvents     int64                `json:"lag_events"`
	LagMs         int64                `json:"lag_ms"`
	Kind          operator.FindingKind `json:"kind"`
	Error         string               `json:"error"`
}

func (r auditResult) text() string {
	text := fmt.Sprintf("%s: %s: %s at %d: %s", printable(r.Projection), printable(r.PersistenceID), r.Kind,
		r.SequenceNr, oneLine(r.Error))
	if r.LagEvents > 0 {
		text += fmt.Sprintf(" (%d events", r.LagEvents)
		if r.LagMs > 0 {
			text += fmt.Sprintf(", the oldest %v ago", (time.Duration(r.LagMs) * time.Millisecond).Round(time.Second))
		}
		text += ")"
	}
	return text
}

// Run runs the command.
func (c *projectionsVerifyCommand) Run(ctx context.Context, s *session) error {
	if c.MinAge < 0 {
		return usagef("--min-age must not be negative")
	}
	return s.projections(ctx, checking, func(j *dynajournal.Journal) error {
		if err := c.leftOut(ctx, s, j); err != nil {
			return err
		}
		shown := s.idsProgress(ctx, j, "persistence ids", 0)
		defer shown.stop()
		opts := c.options(shown)
		if opts.MinAge = c.MinAge; c.MinAge == 0 {
			opts.MinAge = -1
		}
		checked, found := 0, 0
		show := opts.Progress
		opts.Progress = func(ids int) {
			checked = ids
			show(ids)
		}
		for f, err := range operator.New(j, c.Projection).Audit(ctx, opts) {
			if err != nil {
				return err
			}
			found++
			r := auditResult{
				f.Projection, f.PersistenceID, f.Offset, f.Events, f.Age.Milliseconds(), f.Kind, f.Detail,
			}
			if err := s.result.write(r); err != nil {
				return err
			}
		}
		if found > 0 {
			return fmt.Errorf("found %d problems in %d persistence ids", found, checked)
		}
		return s.message("checked %d persistence ids, found nothing", checked)
	})
}
