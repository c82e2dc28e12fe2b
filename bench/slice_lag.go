package bench

import (
	"context"
	"fmt"
)

// The times of sliceLag, in milliseconds. Events that are written from lagFrom until lagUntil
// appear in the index after a delay of lagFor.
const (
	lagFrom, lagUntil, lagFor = int64(60_000), int64(120_000), int64(180_000)
	lagEnd                    = lagUntil + lagFor + 60_000
	lagSlices                 = 2
	// One in lateEvery persistence ids appears late in the index: an index is filled independently
	// from each partition of its table.
	lateEvery = 4
	// eventsOfID is the number of events of an id, written one per second. After that the id has no
	// more events.
	eventsOfID = 3
)

// sliceLag writes events of ids that start and end, and follows them with the documented queries,
// in simulated time. It returns the number of events, and the number of events that the queries
// have never shown.
//
// A query returns the events of a slice since the latest event that it has shown. A backtracking
// query starts earlier, by the length of its window. If an event of an id shows that an earlier
// event is missing, all of them count as found.
func (x *sliceIndex) sliceLag(ctx context.Context) (events, missed int, err error) {
	follower := &sliceFollower{sliceIndex: x, seen: map[string]int64{}}
	written := map[string]int64{}
	var late []sliceEvent
	for now := int64(0); now < lagEnd; now += 1000 {
		e := sliceEvent{at: now, seq: now/1000%eventsOfID + 1}
		id := now / 1000 / eventsOfID
		e.pid, e.slice = fmt.Sprintf("order-%d", id), int(id/lateEvery%lagSlices)
		lagging := id%lateEvery == 0 && now >= lagFrom && now < lagUntil
		if err := x.put(ctx, e, !lagging); err != nil {
			return 0, 0, err
		}
		written[e.pid] = e.seq
		events++
		if lagging {
			late = append(late, e)
		}
		for len(late) > 0 && late[0].at+lagFor <= now {
			if err := x.show(ctx, late[0]); err != nil {
				return 0, 0, err
			}
			late = late[1:]
		}
		if now/1000%sliceRefreshSeconds == 0 {
			if err := follower.poll(ctx, now); err != nil {
				return 0, 0, err
			}
		}
	}
	if err := follower.poll(ctx, lagEnd+backtrackDelayMillis); err != nil {
		return 0, 0, err
	}
	for pid, last := range written {
		missed += int(last - follower.seen[pid])
	}
	return events, missed, nil
}

// sliceFollower follows the events of some slices.
type sliceFollower struct {
	*sliceIndex

	// latest is the time of the newest shown event of each slice.
	latest [lagSlices]int64
	// seen is the highest shown sequence number of each id.
	seen map[string]int64
}

// poll runs the queries that are due at a time.
func (f *sliceFollower) poll(ctx context.Context, now int64) error {
	for slice := range lagSlices {
		for _, of := range []struct{ from, to int64 }{
			{f.latest[slice], now - sliceDelayMillis},
			{f.latest[slice] - backtrackWindowMillis, now - backtrackDelayMillis},
		} {
			if of.to < max(of.from, 0) {
				continue
			}
			found, err := f.query(ctx, slice, max(of.from, 0), of.to)
			if err != nil {
				return err
			}
			for _, e := range found {
				f.seen[e.pid] = max(f.seen[e.pid], e.seq)
				f.latest[slice] = max(f.latest[slice], e.at)
			}
		}
	}
	return nil
}
