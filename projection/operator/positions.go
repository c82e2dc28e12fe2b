package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
	"github.com/dynajournal/dynajournal/projection/internal/stream"
)

// Position is the position of a projection in a shard of the stream.
type Position struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	Shard      string
	// Worker names the process that reads the shard. It is empty if no process does.
	Worker string
	// Delay is an age: all older records of the shard are handled by the projection. The position
	// is stored six times in StreamsOptions.LeaseTimeout, so with the defaults Delay is 5 seconds
	// for an idle shard.
	Delay time.Duration
	// Unread reports whether no process has read the shard yet: Delay is 0 then.
	Unread bool
	// SweepPending reports whether the group still has to sweep all persistence ids.
	SweepPending bool
}

// Positions returns the position of the projection in each shard of the journal table's stream that
// is not read to its end. If the operator has no name, it returns the positions of all projections
// that read the stream. It reads the leases: 1 read unit for each shard and group, and 1
// DescribeStream request for each 100 shards. For the backlog of single persistence ids see
// [Operator.MeasureLag].
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], [projection.ErrNoStream], and
// errors of requests.
func (o *Operator) Positions(ctx context.Context, client *dynamodbstreams.Client) ([]Position, error) {
	all, err := o.positions(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("read the positions of projections: %w", err)
	}
	return all, nil
}

func (o *Operator) positions(ctx context.Context, client *dynamodbstreams.Client) ([]Position, error) {
	if client == nil {
		return nil, engine.Argument("client", nil, "it must be a client for streams")
	}
	infos, err := o.selected(ctx)
	if err != nil {
		return nil, err
	}
	found, err := stream.Positions(ctx, o.journal, client, infos)
	if err != nil {
		return nil, err
	}
	var all []Position
	for _, p := range found {
		all = append(all, Position(p))
	}
	return all, nil
}
