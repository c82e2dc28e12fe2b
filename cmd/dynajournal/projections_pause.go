package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsPauseCommand struct {
	Projection string `arg:"" help:"Projection, as group/name."`
}

// Help returns the text below the help of the flags.
func (*projectionsPauseCommand) Help() string {
	return "Processes read the pause within 10 seconds, and processes that start later do not handle its events " +
		"either. Running calls of the handler return normally. The other projections of the group continue. Events " +
		"are handled after the pause, however long it lasts. Events that are deleted meanwhile are reported as a " +
		"gap. A purge is reported only when the persistence id is used again. It costs 1 write unit."
}

// pausedResult is a projection that was paused or continued.
type pausedResult struct {
	Projection string `json:"projection"`
	Paused     bool   `json:"paused"`
}

func (r pausedResult) text() string {
	if r.Paused {
		return printable(r.Projection) + ": paused"
	}
	return printable(r.Projection) + ": not paused"
}

// Run runs the command.
func (c *projectionsPauseCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		if err := operator.New(j, c.Projection).Pause(ctx); err != nil {
			return err
		}
		return s.result.write(pausedResult{c.Projection, true})
	})
}

type projectionsContinueCommand struct {
	Projection string `arg:"" help:"Projection, as group/name."`
}

// Help returns the text below the help of the flags.
func (*projectionsContinueCommand) Help() string {
	return "Processes continue within 10 seconds. They read all persistence ids once for this projection, because the " +
		"triggers of the pause were dropped. That costs 4 read units for each persistence id, or 32 in a journal " +
		"that is shared with a JVM, and the usual units for new events. The command itself costs 1 write unit. It " +
		"does nothing if the projection is not paused."
}

// Run runs the command.
func (c *projectionsContinueCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		if err := operator.New(j, c.Projection).Continue(ctx); err != nil {
			return err
		}
		return s.result.write(pausedResult{c.Projection, false})
	})
}
