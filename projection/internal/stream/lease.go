package stream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Attributes of leases, and of the item that their consumers share.
const (
	// attrWorker is the process that has a lease. It is empty if no process does. attrBeat is a
	// number that each renewal raises. Both together are the version of the lease.
	attrWorker = "worker"
	attrBeat   = "beat"
	// attrCheckpoint is the record up to which all records are done. It is empty at the start of a
	// shard.
	attrCheckpoint = "checkpoint"
	// attrAt is the time up to which all records are done, in seconds since 1970. At the end of a
	// shard it is when the end was stored.
	attrAt = "read_at"
	// attrStream is the ARN of the stream.
	attrStream = "stream_arn"
)

// checkpointEnd is the checkpoint of a shard that has ended, and whose records are all done.
const checkpointEnd = "end"

// sweepLease is the name of the lease of the process that sweeps. Shards have longer names.
const sweepLease = "sweep"

// lease is the right to read a shard. It is written on condition that its stored worker and beat
// are unchanged.
type lease struct {
	shard, worker, checkpoint string
	beat, at                  int64
	exists                    bool
	progress                  *progress // nil if it is not known
}

func (c *Consumer) leaseKey(shard string) dynamo.Attributes {
	label := c.Arn[strings.LastIndex(c.Arn, "/")+1:]
	if shard == sweepLease {
		label = ""
	}
	return dynamo.Attributes{engine.AttrPar: engine.Text(c.set + "\x00" + label + "\x00" + shard)}
}

// pass takes the free leases, and one lease of another process if that has more leases.
func (c *Consumer) pass(ctx context.Context) error {
	listed, err := c.shards(ctx)
	if err != nil {
		return err
	}
	if err := c.present(ctx); err != nil {
		return err
	}
	leases, err := c.leases(ctx, append(c.undecided(listed), sweepLease))
	if err != nil {
		return err
	}
	counts := map[string]int{c.worker: 0}
	var free, taken, ended []lease
	for _, l := range leases {
		_, present := listed[l.shard]
		present = present || l.shard == sweepLease
		switch {
		case l.checkpoint == checkpointEnd && present:
			c.states[l.shard] = shardEnded
		case l.checkpoint == checkpointEnd:
			ended = append(ended, l)
		case !l.exists && !present:
			c.states[l.shard] = shardUnleased
		case c.has(l.shard):
			counts[c.worker]++
			if !present {
				err = errors.Join(err, c.requestSweepOfLost(ctx, l))
			}
		case l.worker == "" || c.still(l):
			free = append(free, l)
		case present:
			counts[l.worker]++
			taken = append(taken, l)
		}
	}
	if err != nil {
		return err
	}
	for _, l := range free {
		if err := c.take(ctx, l); err != nil {
			return err
		}
		counts[c.worker]++
	}
	if err := c.steal(ctx, taken, counts); err != nil {
		return err
	}
	return c.removeEnded(ctx, ended)
}

// steal takes a lease of the process that has the most leases, if that has at least two more than
// this process.
func (c *Consumer) steal(ctx context.Context, taken []lease, counts map[string]int) error {
	most := c.worker
	for worker, n := range counts {
		if n > counts[most] {
			most = worker
		}
	}
	if counts[most]-counts[c.worker] < 2 {
		return nil
	}
	for _, l := range taken {
		if l.worker == most {
			return c.take(ctx, l)
		}
	}
	return nil
}

func (c *Consumer) has(shard string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading[shard]
}

// still reports whether this process has seen a lease unchanged for LeaseTimeout.
func (c *Consumer) still(l lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.seen[l.shard]
	if !known || s.worker != l.worker || s.beat != l.beat {
		c.seen[l.shard] = sighting{l.worker, l.beat, time.Now()}
		return false
	}
	return time.Since(s.at) >= c.LeaseTimeout
}

// shards returns the parent of each listed shard of the stream. It is empty for a shard without a
// parent. The error is ErrStreamOver if the stream was disabled, or is gone.
func (c *Consumer) shards(ctx context.Context) (map[string]string, error) {
	described, disabled, err := c.Describe(ctx)
	if err == nil && disabled {
		err = ErrStreamOver
	}
	if err != nil {
		return nil, err
	}
	listed := make(map[string]string, len(described))
	for _, shard := range described {
		listed[aws.ToString(shard.ShardId)] = aws.ToString(shard.ParentShardId)
	}
	return listed, nil
}

// leases reads the leases of shards. A lease that does not exist starts at the oldest record.
func (c *Consumer) leases(ctx context.Context, shards []string) ([]lease, error) {
	keys := make([]dynamo.Attributes, len(shards))
	for i, shard := range shards {
		keys[i] = c.leaseKey(shard)
	}
	items, err := c.Group.Table.Batch(ctx, keys)
	if err != nil {
		return nil, err
	}
	all := make([]lease, len(shards))
	for i, shard := range shards {
		d := engine.Decoder{Table: c.Group.Table.Name, Item: items[i]}
		all[i] = lease{
			shard: shard, exists: items[i] != nil, worker: d.Text(attrWorker), checkpoint: d.Text(attrCheckpoint),
			beat: d.Number(attrBeat), at: d.Number(attrAt),
		}
		all[i].progress = decodeProgress(items[i][attrProgress], all[i].beat)
		if d.Err == nil {
			continue
		}
		if err := c.heal(ctx, &all[i], d.Err); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// heal replaces a damaged lease with the lease of an unread shard. Records may have been trimmed,
// so heal requests a sweep first.
func (c *Consumer) heal(ctx context.Context, l *lease, damage error) error {
	c.log(ctx, "the lease of a shard is damaged: the shard is read from its oldest record, and all ids are swept", "stream.lease_damaged", l.shard, damage)
	if err := c.requestSweep(ctx); err != nil {
		return err
	}
	*l = lease{shard: l.shard, at: c.Group.Now().Unix(), exists: true}
	item := c.leaseKey(l.shard)
	item[attrWorker], item[attrBeat] = engine.Text(""), engine.Number(0)
	item[attrCheckpoint], item[attrAt] = engine.Text(""), engine.Number(l.at)
	return core.Of(c.Group.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return client.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: c.Group.Table.Name, Item: item})
	})
}

// take takes a lease and starts to read the shard. It does nothing if the lease has changed since
// it was read.
func (c *Consumer) take(ctx context.Context, l lease) error {
	r := &reader{Consumer: c}
	if l.exists && l.shard != sweepLease && c.away(l.at) {
		if err := r.requestSweepOfTrimmed(ctx); err != nil { // its records may have been trimmed
			return err
		}
	}
	if !l.exists {
		l.at = c.Group.Now().Unix()
	}
	taken, err := c.write(ctx, l, c.worker)
	if errors.Is(err, engine.ErrAgain) {
		return nil
	}
	if err != nil {
		return err
	}
	if l.worker == "" {
		c.leaseChanged(ctx, l.shard, engine.LeaseGained)
	} else {
		c.leaseChanged(ctx, l.shard, engine.LeaseTakenOver)
	}
	ctx, cancel := context.WithCancel(ctx)
	r.lease, r.stop = taken, cancel
	c.mu.Lock()
	c.reading[l.shard] = true
	delete(c.seen, l.shard)
	c.mu.Unlock()
	delay := &c.Group.StreamDelay
	if l.shard != sweepLease {
		delay.Read(l.shard, time.Unix(l.at, 0))
	}
	c.readers.Go(func() {
		defer cancel()
		r.run(ctx)
		delay.End(l.shard)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.reading, l.shard)
	})
	return nil
}

// leaseChanged passes a change of the lease of a shard to the hooks.
func (c *Consumer) leaseChanged(ctx context.Context, shard, change string) {
	if onLease := c.Group.Config.Hooks.OnLease; onLease != nil && shard != sweepLease {
		onLease(ctx, engine.Lease{Group: c.Group.Config.Name, Shard: shard, Change: change})
	}
}

// unchanged returns the condition that the stored lease is unchanged since it was read.
func (l *lease) unchanged() engine.Condition {
	if !l.exists {
		return engine.Condition{Expression: "attribute_not_exists(" + engine.AttrPar + ")", Values: dynamo.Attributes{}}
	}
	return engine.Condition{
		Expression: attrWorker + " = :oldworker AND " + attrBeat + " = :oldbeat",
		Values:     dynamo.Attributes{":oldworker": engine.Text(l.worker), ":oldbeat": engine.Number(l.beat)},
	}
}

// write stores a lease for a worker, on condition that the stored lease is unchanged. It returns
// the stored lease.
func (c *Consumer) write(ctx context.Context, l lease, worker string) (lease, error) {
	only := l.unchanged()
	next := l
	next.worker, next.beat, next.exists = worker, l.beat+1, true
	only.Values[":worker"], only.Values[":beat"] = engine.Text(worker), engine.Number(next.beat)
	only.Values[":checkpoint"], only.Values[":at"] = engine.Text(next.checkpoint), engine.Number(next.at)
	set := "SET " + attrWorker + " = :worker, " + attrBeat + " = :beat, " + attrCheckpoint + " = :checkpoint, " +
		attrAt + " = :at"
	if l.progress != nil {
		set += ", " + attrProgress + " = :progress"
		only.Values[":progress"] = l.progress.encode(next.beat)
	}
	err := c.Group.Table.Send(ctx, dynamo.Update{
		Table: c.Group.Table.Name, Key: c.leaseKey(l.shard), Expression: set,
		Condition: only.Expression, Values: only.Values,
	})
	return next, err
}
