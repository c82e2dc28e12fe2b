package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// streamPosition is an operator.Position.
type streamPosition struct {
	Projection   string
	Shard        string
	Worker       string
	Delay        time.Duration
	Unread       bool
	SweepPending bool
}

// Positions returns the positions of projections in the stream of the journal table, for each shard
// that is not read to its end.
func Positions(
	ctx context.Context, journal *dynajournal.Journal, client *dynamodbstreams.Client, infos []engine.Info,
) ([]streamPosition, error) {
	arn, err := ARN(ctx, journal)
	if err != nil {
		return nil, err
	}
	g := &engine.Group{
		Config: engine.Settings{Logger: core.Of(journal).Logger}, Journal: journal, Table: engine.OpenTable(journal),
	}
	var shards []string
	read := map[string][]shardPosition{} // by set of projections: its leases are read once
	var all []streamPosition
	for _, of := range infos {
		if of.Source != engine.SourceStreams {
			continue
		}
		name, _, _ := strings.Cut(of.Projection, "/")
		c := &Consumer{
			Streams: &Streams{Client: client}, Group: g, Arn: arn,
			set: g.Table.JournalName + "\x00" + name + "\x00" + of.Set,
		}
		if shards == nil {
			if shards, err = c.shardNames(ctx); err != nil {
				return nil, err
			}
		}
		found, known := read[c.set]
		if !known {
			if found, err = c.positions(ctx, shards); err != nil {
				return nil, err
			}
			read[c.set] = found
		}
		for _, p := range found {
			all = append(all, c.positionOf(of.Projection, p))
		}
	}
	return all, nil
}

// shardPosition is the position of a group in a shard. progress has the times of its projections.
// It is nil if they are unknown.
type shardPosition struct {
	streamPosition

	progress *progress
}

// positionOf returns the position of a projection in a shard that its group reads.
func (c *Consumer) positionOf(projection string, read shardPosition) streamPosition {
	p := read.streamPosition
	p.Projection = projection
	if read.progress != nil {
		p.Delay = c.since(read.progress.of(projection))
	}
	return p
}

// shardNames returns the names of the shards of the stream, sorted. The error is ErrNoStream if the
// stream is disabled or does not exist.
func (c *Consumer) shardNames(ctx context.Context) ([]string, error) {
	listed, err := c.shards(ctx)
	if errors.Is(err, ErrStreamOver) {
		return nil, engine.ErrNoStream
	}
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(listed)), nil
}

// since returns the time since at, which is in seconds since 1970.
func (c *Consumer) since(at int64) time.Duration {
	return max(c.Group.Now().Sub(time.Unix(at, 0)), 0)
}

// positions returns the positions in shards of the consumers of the same projections.
func (c *Consumer) positions(ctx context.Context, shards []string) ([]shardPosition, error) {
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
			streamPosition{Shard: l.shard, Worker: l.worker, Unread: !l.exists, SweepPending: now.requested > now.swept}, l.progress,
		}
		if l.exists {
			p.Delay = c.since(l.at)
		}
		all = append(all, p)
	}
	return all, nil
}
