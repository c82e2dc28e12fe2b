package projection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// Position is how far a projection has read a shard of the stream.
type Position struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	Shard      string
	// Worker names the process that reads the shard. It is empty if none does.
	Worker string
	// Behind is the time since which records of the shard may not be handled by the projection. It
	// is stored six times in StreamsOptions.LeaseTimeout, so it is 5 seconds with the defaults for
	// an idle shard.
	Behind time.Duration
	// Unread reports whether nobody has read the shard yet: Behind is 0 then.
	Unread bool
	// Owed reports whether the group has still to sweep all persistence ids.
	Owed bool
}

// Positions returns how far the projection has read the stream of the journal table, for each shard
// that is not read to its end. If the operator has no name, it returns the positions of all
// projections that read the stream. It reads the leases: 1 read unit for each shard and group, and
// 1 request DescribeStream for each 100 shards. It says nothing of single persistence ids: see
// [Operator.MeasureLag].
//
// Errors: a *dynajournal.ArgumentError, [ErrNoProjection], [ErrNoStream], and those of requests.
func (o *Operator) Positions(ctx context.Context, client *dynamodbstreams.Client) ([]Position, error) {
	all, err := o.positions(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("read the positions of projections: %w", err)
	}
	return all, nil
}

func (o *Operator) positions(ctx context.Context, client *dynamodbstreams.Client) ([]Position, error) {
	if client == nil {
		return nil, argument("client", nil, "it must be a client for streams")
	}
	infos, err := o.selected(ctx)
	if err != nil {
		return nil, err
	}
	t := openTable(o.journal)
	arn, err := streamOf(ctx, o.journal)
	if err != nil {
		return nil, err
	}
	var shards []string
	of := map[string][]shardPosition{} // by set of projections: its leases are read once
	var all []Position
	for _, info := range infos {
		if info.Source != sourceStreams {
			continue
		}
		group, _, _ := strings.Cut(info.Projection, "/")
		c := &consumer{
			streams: &streams{client: client}, group: &Group{journal: o.journal, table: t},
			arn: arn, set: t.journalName + "\x00" + group + "\x00" + info.set,
		}
		if shards == nil {
			if shards, err = c.shardNames(ctx); err != nil {
				return nil, err
			}
		}
		read, known := of[c.set]
		if !known {
			if read, err = c.positions(ctx, shards); err != nil {
				return nil, err
			}
			of[c.set] = read
		}
		for _, p := range read {
			all = append(all, c.positionOf(info.Projection, p))
		}
	}
	return all, nil
}

// shardPosition is how far the projections of a group have read a shard. progress tells them apart,
// nil if it is not known.
type shardPosition struct {
	Position

	progress *progress
}

// positionOf returns the position of a projection in a shard that its group reads.
func (c *consumer) positionOf(projection string, read shardPosition) Position {
	p := read.Position
	p.Projection = projection
	if read.progress != nil {
		p.Behind = c.since(read.progress.of(projection))
	}
	return p
}

// shardNames returns the names of the shards of the stream, sorted. The error is ErrNoStream if the
// stream is disabled or does not exist.
func (c *consumer) shardNames(ctx context.Context) ([]string, error) {
	listed, err := c.shards(ctx)
	if errors.Is(err, errStreamOver) {
		return nil, ErrNoStream
	}
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(listed)), nil
}

// since returns how long ago a time was, in seconds since 1970.
func (c *consumer) since(at int64) time.Duration {
	return max(c.group.now().Sub(time.Unix(at, 0)), 0)
}

// positions returns how far the consumers of the same projections have read shards.
func (c *consumer) positions(ctx context.Context, shards []string) ([]shardPosition, error) {
	now, err := c.consumers(ctx)
	if err != nil {
		return nil, err
	}
	leases, err := c.leases(ctx, shards)
	if err != nil {
		return nil, err
	}
	var all []shardPosition
	for _, l := range leases {
		if l.checkpoint == checkpointEnd {
			continue
		}
		p := shardPosition{
			Position{Shard: l.shard, Worker: l.worker, Unread: !l.exists, Owed: now.owed > now.swept}, l.progress,
		}
		if l.exists {
			p.Behind = c.since(l.at)
		}
		all = append(all, p)
	}
	return all, nil
}
