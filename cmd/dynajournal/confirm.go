package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

type confirmCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	Seq           int64  `required:"" placeholder:"N" help:"Sequence number of the event."`
	Channel       string `required:"" placeholder:"C" help:"Channel that confirms the event."`
}

// Help returns the text below the help of the flags.
func (*confirmCommand) Help() string {
	return "Only the older layouts have confirmations: set --layout. The command recovers the persistence id " +
		"first. Confirming an event again changes nothing."
}

// confirmedResult is an event with its confirmations.
type confirmedResult struct {
	PersistenceID string   `json:"persistence_id"`
	SequenceNr    int64    `json:"sequence_nr"`
	Confirmations []string `json:"confirmations"`
}

func (r confirmedResult) text() string {
	return fmt.Sprintf("%s: event %d is confirmed by %q", printable(r.PersistenceID), r.SequenceNr, r.Confirmations)
}

// Run runs the command.
func (c *confirmCommand) Run(ctx context.Context, s *session) error {
	if !s.location.isLegacy() {
		return usagef("--layout %s has no confirmations", s.location.Layout)
	}
	return s.legacyJournal(ctx, removing, func(j *legacy.Journal) error {
		w, err := j.Recover(ctx, c.PersistenceID, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return err
		}
		channels, err := w.Confirm(ctx, c.Seq, c.Channel)
		if err != nil {
			return err
		}
		return s.result.write(confirmedResult{c.PersistenceID, c.Seq, channels})
	})
}
