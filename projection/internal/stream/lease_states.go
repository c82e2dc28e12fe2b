package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// leaseState is the state of the lease of a shard, as far as a process knows.
type leaseState int

const (
	// shardOpen is a shard whose lease may change.
	shardOpen leaseState = iota
	// shardEnded is a shard that was read to its end. While the shard is listed, its lease is not
	// read again.
	shardEnded
	// shardSweepRequested is a shard that is not listed, whose lease this process has, and for
	// whose records a sweep is requested.
	shardSweepRequested
	// shardUnleased is a shard without a lease, or with one that this process can't delete. While
	// the shard is not listed, its lease is not read again.
	shardUnleased
)

// leaseRetention is how long a lease is retained after the end of its shard was stored. The stream
// retains records for 24 hours, so by then it has no more records of the shard.
const leaseRetention = 24 * time.Hour

// undecided returns the shards whose leases a pass reads.
//
// A shard that is not listed may also have a lease. If records of the shard were not done when it
// was trimmed, a process must request a sweep. If all records were done, a process must delete the
// lease. So a pass also reads the leases of the shards that this process has seen, and of the
// parents of listed shards, which a process that started later has not seen.
func (c *Consumer) undecided(listed map[string]string) []string {
	named := map[string]bool{}
	for name, parent := range listed {
		named[name] = true
		if parent != "" {
			named[parent] = true
		}
	}
	for name := range named {
		if _, known := c.states[name]; !known {
			c.states[name] = shardOpen
		}
	}
	var shards []string
	for name, state := range c.states {
		_, present := listed[name]
		switch {
		case present && state == shardEnded, !present && state == shardUnleased && named[name]:
		case !present && state == shardUnleased:
			delete(c.states, name)
		default:
			shards = append(shards, name)
		}
	}
	slices.Sort(shards)
	return shards
}

// requestSweepOfLost requests a sweep for a shard that this process reads, if the shard was trimmed
// while a record is not done. The sweep ends only after the record is done, even if this process
// crashes. It must be requested now, because later nothing may name the shard.
func (c *Consumer) requestSweepOfLost(ctx context.Context, l lease) error {
	if c.states[l.shard] != shardOpen || !c.away(l.at) {
		return nil
	}
	if err := c.requestSweep(ctx); err != nil {
		return err
	}
	c.states[l.shard] = shardSweepRequested
	return nil
}

// removeEnded deletes the leases of shards that were read to their ends, and are no longer listed,
// after leaseRetention. A process that has read an older list may then take the lease of a shard
// again. It does not find the shard, and requests a sweep.
func (c *Consumer) removeEnded(ctx context.Context, ended []lease) error {
	for _, l := range ended {
		c.states[l.shard] = shardEnded
		if c.Group.Now().Sub(time.Unix(l.at, 0)) <= leaseRetention {
			continue
		}
		only := l.unchanged()
		err := core.Of(c.Group.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
			return client.Delete(ctx, &dynamo.Meter{}, dynamo.Delete{
				Table: c.Group.Table.Name, Key: c.leaseKey(l.shard), Condition: only.Expression, Values: only.Values,
			})
		})
		switch {
		case errors.Is(err, dynamo.ErrConditionFailed):
			continue // the next pass reads it again
		case errors.Is(err, dynajournal.ErrDenied):
			if !c.undeletable {
				c.log(ctx, "the leases of trimmed shards can't be deleted", "stream.leases_not_deleted", l.shard, err)
			}
			c.undeletable = true
		case err != nil:
			return err
		}
		c.states[l.shard] = shardUnleased
	}
	return nil
}
