package main

import (
	"context"
	"fmt"
)

type deleteCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	To            int64  `required:"" placeholder:"N" help:"Last sequence number to delete. A number beyond the highest deletes up to the highest."`
	Mark          bool   `help:"Only mark the events as deleted, in the older layouts that have such marks. Default: remove them."`
}

// Help returns the text below the help of the flags.
func (*deleteCommand) Help() string {
	return "The command recovers the persistence id, which fences all other " +
		"writers, and then deletes. The highest sequence number does not change."
}

// deletedResult is the result of a deletion.
type deletedResult struct {
	PersistenceID string `json:"persistence_id"`
	Lowest        int64  `json:"lowest"`
	Highest       int64  `json:"highest"`
	Removed       int64  `json:"removed"`
}

func (r deletedResult) text() string {
	return fmt.Sprintf("%s: removed %d, lowest %d, highest %d", printable(r.PersistenceID), r.Removed, r.Lowest,
		r.Highest)
}

// Run runs the command.
func (c *deleteCommand) Run(ctx context.Context, s *session) error {
	if c.Mark && !s.location.isLegacy() {
		return usagef("--layout %s can't mark events as deleted", s.location.Layout)
	}
	return s.journal(ctx, removing, func(j journal) error {
		w, err := j.recover(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		deleted, err := w.deleteTo(ctx, c.To, c.Mark)
		if err != nil {
			return err
		}
		return s.result.write(deleted)
	})
}
