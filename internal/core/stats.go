package core

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Stats is the present state of a journal.
type Stats struct {
	// InFlight and Waiting count requests. Waiting reads have not made a request yet.
	InFlight, MaxInFlight, Waiting, WaitingReads int
	// Sharing is the state of group commit. Gathering counts the events that wait for a request.
	Sharing   dynamo.Sharing
	Gathering int
	// Skew is how far the service's clock was ahead when a response arrived at SkewAt.
	Skew   time.Duration
	SkewAt time.Time
}

// Stats returns the present state of the journal.
func (j *Journal) Stats() Stats {
	s := Stats{MaxInFlight: j.Client.MaxInFlight(), WaitingReads: j.admission.Waiting()}
	s.InFlight, s.Waiting = j.Client.InFlight()
	s.Sharing, s.Gathering = j.group.State()
	s.Skew, s.SkewAt = j.Clock.Skew()
	return s
}

// Ping reads the journal's header, whether or not there is one.
func (j *Journal) Ping(ctx context.Context) error {
	return j.Requests(ctx, dynamo.ForPing, func(ctx context.Context, client *dynamo.Client) error {
		_, err := client.Get(ctx, &dynamo.Meter{}, j.Table, layout.Keys{Journal: j.Name}.Header().Attributes())
		return err
	})
}
