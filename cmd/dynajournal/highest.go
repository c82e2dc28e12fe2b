package main

import (
	"context"
	"fmt"
)

type highestCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

// boundsResult has the lowest and the highest sequence number of a persistence id.
type boundsResult struct {
	PersistenceID string `json:"persistence_id"`
	Lowest        int64  `json:"lowest"`
	Highest       int64  `json:"highest"`
}

func (r boundsResult) text() string {
	return fmt.Sprintf("%s: lowest %d, highest %d", printable(r.PersistenceID), r.Lowest, r.Highest)
}

// Run runs the command.
func (c *highestCommand) Run(ctx context.Context, s *session) error {
	return s.journal(ctx, reading, func(j journal) error {
		b, err := j.Bounds(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return s.result.write(boundsResult{c.PersistenceID, b.Lowest, b.Highest})
	})
}
