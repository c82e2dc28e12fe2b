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
	// ClockSkew is the service's time minus the machine's time, at the last response. DynamoDB
	// reports whole seconds, and a response takes time to arrive, so the true skew is up to about a
	// second larger.
	ClockSkew time.Duration
	// ClockReadAt is the machine's time at the last response. It is zero before the first one.
	ClockReadAt time.Time
}

// GroupCommitState reports whether writers of different persistence ids share requests.
type GroupCommitState int

const (
	// GroupCommitSharing means that writers share requests when many write at the same time.
	GroupCommitSharing GroupCommitState = iota
	// GroupCommitPaused means that access to dynamodb:PartiQLInsert was denied. Each event is sent
	// singly. A shared request is tried again after a pause of up to 1 hour.
	GroupCommitPaused
	// GroupCommitDisabled means that each event is sent singly, because of [GroupCommitOff] or
	// because the service has no PartiQL.
	GroupCommitDisabled
)

// groupCommitState returns the public form of a state.
func groupCommitState(s dynamo.Sharing) GroupCommitState {
	switch s {
	case dynamo.SharingOn:
		return GroupCommitSharing
	case dynamo.SharingPaused:
		return GroupCommitPaused
	case dynamo.SharingOff:
	}
	return GroupCommitDisabled
}

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
		GroupCommit: groupCommitState(s.Sharing), Gathering: s.Gathering, ClockSkew: s.Skew, ClockReadAt: s.SkewAt,
	}
}

// Ping checks that the journal table can be read: it sends one GetItem, which costs at most 1 read
// unit. It is meant for the readiness check of a service. Ping does not check permissions to write,
// and succeeds while writes are throttled.
//
// Pass a context with a timeout. Ping waits for a connection as any other request does, and if the
// endpoint hangs, it returns context.DeadlineExceeded only after Config.OperationTimeout.
//
// Errors: [ErrClosed], request errors, and the cause of ctx.
func (j *Journal) Ping(ctx context.Context) error {
	if err := j.core.Ping(ctx); err != nil {
		return fmt.Errorf("ping journal: %w", err)
	}
	return nil
}
