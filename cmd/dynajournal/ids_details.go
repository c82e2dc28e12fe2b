package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

// idDetails is a persistence id with its number of events and the time of the last one.
type idDetails struct {
	PersistenceID string `json:"persistence_id"`
	// Events counts the sequence numbers that are not deleted. Some may never have had an event,
	// for example because a JVM rejected it.
	Events   int64     `json:"events"`
	LastTime time.Time `json:"last_time,omitzero"`
}

func (r idDetails) text() string {
	last := "-"
	if !r.LastTime.IsZero() {
		last = timeText(r.LastTime)
	}
	return fmt.Sprintf("%10d  %-24s  %s", r.Events, last, printable(r.PersistenceID))
}

// details reads the bounds of a persistence id and its last event.
func details(ctx context.Context, j journal, pid string) (idDetails, error) {
	bounds, err := j.Bounds(ctx, pid)
	if err != nil {
		return idDetails{}, fmt.Errorf("%s: %w", printable(pid), err)
	}
	found := idDetails{PersistenceID: pid, Events: max(bounds.Highest-max(bounds.Lowest, 1)+1, 0)}
	if found.Events == 0 {
		return found, nil
	}
	for event, err := range j.events(ctx, pid, dynajournal.Range{From: bounds.Highest}) {
		if err != nil {
			return idDetails{}, fmt.Errorf("%s: %w", printable(pid), err)
		}
		found.LastTime = event.Time
	}
	return found, nil
}
