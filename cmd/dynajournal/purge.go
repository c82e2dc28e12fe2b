package main

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type purgeCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	Yes           bool   `help:"Confirm that all events and snapshots are removed. Required."`
	Now           bool   `help:"Remove every item immediately. First make sure that no other writer exists. Default: tombstones stay, and expire after the fence window."`
}

// purgedResult is the result of a purge.
type purgedResult struct {
	PersistenceID string `json:"persistence_id"`
	Removed       int64  `json:"removed"`
}

func (r purgedResult) text() string {
	return fmt.Sprintf("%s: removed %d", printable(r.PersistenceID), r.Removed)
}

// Run runs the command.
func (c *purgeCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("this removes all events and snapshots of %q: confirm with --yes", c.PersistenceID)
	}
	return s.currentJournal(ctx, removing, func(j *dynajournal.Journal) error {
		w, err := j.Recover(ctx, c.PersistenceID, dynajournal.RecoverOptions{SkipMissing: true}, nil)
		if err != nil {
			return err
		}
		purged, err := w.Purge(ctx, dynajournal.PurgeOptions{Now: c.Now})
		if err != nil {
			return err
		}
		return s.result.write(purgedResult{c.PersistenceID, purged.Removed})
	})
}
