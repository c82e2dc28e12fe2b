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
	return "Processes stop handling its events within 10 seconds, and processes that start later do not handle them " +
		"either. The other projections of the group continue. No event is lost, however long the pause lasts. " +
		"It costs 1 write unit."
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
	return "Processes continue within 10 seconds. They read all persistence ids once for this projection, at 4 read " +
		"units each, because the stream may have dropped records during the pause. The command does nothing if the " +
		"projection is not paused. It costs 1 write unit."
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
