package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

type projectionsLettersCommand struct {
	Projection string  `arg:"" help:"Outbox, as group/name."`
	ReadUnits  float64 `placeholder:"N" help:"Use at most N read capacity units per second on average. Default: no limit."`
}

// Help returns the text below the help of the flags.
func (*projectionsLettersCommand) Help() string {
	return "It scans the table of projections, which costs half a read unit for each 4 KB. The bodies of " +
		"messages are not shown. If a dead letter can't be read, the command shows the others and then fails."
}

// letterResult is a dead letter.
type letterResult struct {
	Projection    string    `json:"projection"`
	Message       string    `json:"message"`
	PersistenceID string    `json:"persistence_id"`
	SequenceNr    int64     `json:"sequence_nr"`
	Topic         string    `json:"topic"`
	Bytes         int       `json:"bytes"`
	Refused       time.Time `json:"refused"`
	Error         string    `json:"error"`
}

func (r letterResult) text() string {
	return fmt.Sprintf("%s: %s of %s at %d, %d bytes to %s, refused %s: %s", printable(r.Projection), r.Message,
		printable(r.PersistenceID), r.SequenceNr, r.Bytes, printable(r.Topic), r.Refused.Format(time.RFC3339), oneLine(r.Error))
}

// Run runs the command.
func (c *projectionsLettersCommand) Run(ctx context.Context, s *session) error {
	opts := operator.ScanOptions{ReadUnitsPerSecond: c.ReadUnits}
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		var damaged error
		for letter, err := range outbox.DeadLetters(ctx, j, c.Projection, opts) {
			if err != nil {
				damaged = err
				continue
			}
			m := letter.Message
			r := letterResult{
				c.Projection, m.ID, m.PersistenceID, m.SequenceNumber, m.Topic, len(m.Body), letter.Refused.UTC(), letter.Reason,
			}
			if err := s.result.write(r); err != nil {
				return err
			}
		}
		return damaged
	})
}

// letter has the arguments of a command for a dead letter.
type letter struct {
	Projection string `arg:"" help:"Outbox, as group/name."`
	Message    string `arg:"" help:"Id of the message, as dead-letters shows it."`
}

// letterDoneResult is the outcome of a command for a dead letter.
type letterDoneResult struct {
	Projection string `json:"projection"`
	Message    string `json:"message"`
	Outcome    string `json:"outcome"`
}

func (r letterDoneResult) text() string {
	return fmt.Sprintf("%s: %s %s", printable(r.Projection), r.Message, r.Outcome)
}

type projectionsSendAgainCommand struct{ letter }

// Help returns the text below the help of the flags.
func (*projectionsSendAgainCommand) Help() string {
	return "Run it when the target accepts the message. It stores a request, which a process of the outbox " +
		"finds within 10 seconds, even a process that starts later. The message has the same id as before. " +
		"If the target refuses it again, the dead letter stays: see `dynajournal projections dead-letters`."
}

// Run runs the command.
func (c *projectionsSendAgainCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		if err := outbox.SendAgain(ctx, j, c.Projection, c.Message); err != nil {
			return err
		}
		return s.result.write(letterDoneResult{c.Projection, c.Message, "will be sent again"})
	})
}

type projectionsDiscardCommand struct {
	letter

	Yes bool `help:"Confirm that the message is never sent. Required."`
}

// Run runs the command.
func (c *projectionsDiscardCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("projection %s would never send message %s: confirm with --yes", c.Projection, c.Message)
	}
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		if err := outbox.Discard(ctx, j, c.Projection, c.Message); err != nil {
			return err
		}
		return s.result.write(letterDoneResult{c.Projection, c.Message, "is discarded"})
	})
}
