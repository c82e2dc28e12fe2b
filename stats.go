package dynajournal

import (
	"context"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Stats is the present state of a journal in this process.
type Stats struct {
	// InFlight is the number of requests that have a connection now. It is at most MaxInFlight,
	// which is Config.MaxConnections.
	InFlight, MaxInFlight int
	// Waiting is the number of requests that wait for a connection. If it is often above 0, raise
	// Config.MaxConnections.
	Waiting int
	// WaitingReads is the number of recoveries and other reads that have not started yet, because
	// MaxInFlight other reads are just starting.
	WaitingReads int
	// GroupCommit reports whether writers share requests now.
	GroupCommit GroupCommitState
	// Gathering is the number of events that wait for the next shared request.
	Gathering int
	// ClockSkew is how far the service's clock was ahead of the machine's when a response arrived at
	// ClockReadAt. It is negative if the service's clock was behind. DynamoDB reports whole seconds,
	// so ClockSkew is up to a second too small, and the duration of the response's way is part of it.
	// ClockReadAt is the machine's time, and zero before the first response.
	ClockSkew   time.Duration
	ClockReadAt time.Time
}

// GroupCommitState reports whether writers of different persistence ids share requests.
type GroupCommitState int

const (
	// GroupCommitSharing: writers share requests when many write at the same time.
	GroupCommitSharing = GroupCommitState(dynamo.SharingOn)
	// GroupCommitPaused: access to dynamodb:PartiQLInsert was denied. Each event is sent singly, and a
	// shared request is tried again after a pause of up to 1 hour.
	GroupCommitPaused = GroupCommitState(dynamo.SharingPaused)
	// GroupCommitDisabled: each event is sent singly, because of [GroupCommitOff] or because the
	// service has no PartiQL.
	GroupCommitDisabled = GroupCommitState(dynamo.SharingOff)
)

// String returns sharing, paused or disabled, or GroupCommitState(n) for any other value n.
func (s GroupCommitState) String() string {
	switch s {
	case GroupCommitSharing:
		return "sharing"
	case GroupCommitPaused:
		return "paused"
	case GroupCommitDisabled:
		return "disabled"
	}
	return fmt.Sprintf("GroupCommitState(%d)", int(s))
}

// Stats returns the present state of the journal. It sends nothing, and is cheap enough to be
// called at every scrape of metrics.
func (j *Journal) Stats() Stats {
	s := j.core.Stats()
	return Stats{
		InFlight: s.InFlight, MaxInFlight: s.MaxInFlight, Waiting: s.Waiting, WaitingReads: s.WaitingReads,
		GroupCommit: GroupCommitState(s.Sharing), Gathering: s.Gathering, ClockSkew: s.Skew, ClockReadAt: s.SkewAt,
	}
}

// Ping checks that the journal table can be read: it sends one GetItem, which costs at most 1 read
// unit. It is meant for the readiness check of a service. It waits for a connection as any other
// request does, so it fails if all connections hang. Ping does not check permissions to write.
//
// Errors: [ErrClosed], and request errors.
func (j *Journal) Ping(ctx context.Context) error {
	if err := j.core.Ping(ctx); err != nil {
		return fmt.Errorf("ping journal: %w", err)
	}
	return nil
}
