package stream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// reader reads a shard while its process has the lease.
type reader struct {
	*Consumer

	stop context.CancelFunc
	// images is the size of the images that wait to be handled, in bytes.
	images atomic.Int64

	mu    sync.Mutex
	lease lease
	// pages has the pages that are not done, in order.
	pages []*recordPage
	// tip is when the shard was last read to its newest record.
	tip time.Time
	// covered is when a sweep was last requested for the shard. The sweep covers all records that
	// were written before.
	covered time.Time
	// over reports whether the shard has ended, and all its records were received.
	over bool

	// loggedAt is the time of the last log record that the shard can't be read. Only read uses it.
	loggedAt time.Time
}

// recordPage is a page of records. The checkpoint may pass a page when it and all pages before it
// are done.
type recordPage struct {
	last string
	// created is when the last record was written.
	created time.Time
	left    int
	// waits counts, for each projection, the persistence ids of the page that it has not handled.
	waits map[*engine.Member]int
}

// run reads the shard and renews the lease, until ctx ends, the lease is lost, or the shard has
// ended and everything is done.
func (r *reader) run(ctx context.Context) {
	var reading sync.WaitGroup
	reading.Go(func() {
		if r.lease.shard == sweepLease {
			r.sweepRequested(ctx)
			return
		}
		r.read(ctx)
	})
	defer reading.Wait()
	defer r.stop()
	for {
		if backoff.Wait(ctx, r.LeaseTimeout/engine.Renewals) != nil {
			r.renew(context.WithoutCancel(ctx), "") // released: another process need not wait
			return
		}
		if !r.renew(ctx, r.worker) {
			return
		}
	}
}

// renew stores the lease and its checkpoint. worker has the lease from then on. It reports whether
// the process continues to read the shard.
func (r *reader) renew(ctx context.Context, worker string) bool {
	r.mu.Lock()
	now := r.lease
	if len(r.pages) == 0 && !r.tip.IsZero() {
		now.at = max(now.at, r.tip.Unix())
	}
	ended := r.over && len(r.pages) == 0
	now.progress = r.progress()
	r.mu.Unlock()
	if ended {
		now.checkpoint, now.at, worker = checkpointEnd, r.Group.Now().Unix(), ""
	}
	next, err := r.write(ctx, now, worker)
	switch {
	case errors.Is(err, engine.ErrAgain):
		return r.stillMine(ctx, next)
	case err != nil:
		r.log(ctx, "the lease of a shard could not be renewed", "stream.lease_not_renewed", now.shard, err)
		return true // another process takes it in time
	}
	if worker == "" {
		r.gaveUp(ctx, next)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.worker, r.lease.beat, r.lease.exists, r.lease.at = next.worker, next.beat, true, next.at
	return !ended
}

// stillMine reports whether this process still has the lease after a refused write: an attempt
// whose response was lost may have succeeded. wanted is the lease that the write was to store.
func (r *reader) stillMine(ctx context.Context, wanted lease) bool {
	leases, err := r.leases(ctx, []string{r.lease.shard})
	if err != nil {
		return true
	}
	stored := leases[0]
	switch {
	case stored.worker == r.worker:
	case wanted.worker == "" && stored.worker == "" && stored.beat == wanted.beat:
		r.gaveUp(ctx, wanted)
	default:
		r.leaseChanged(ctx, r.lease.shard, engine.LeaseLost)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.beat = stored.beat
	return stored.worker == r.worker
}

// gaveUp reports that this process has stored a lease without a worker, and wakes the next pass if
// the shard has ended.
func (r *reader) gaveUp(ctx context.Context, stored lease) {
	if stored.checkpoint != checkpointEnd {
		r.leaseChanged(ctx, stored.shard, engine.LeaseReleased)
		return
	}
	r.leaseChanged(ctx, stored.shard, engine.LeaseEnded)
	select {
	case r.ended <- struct{}{}:
	default:
	}
}

// read reads the records of the shard, from the checkpoint on.
func (r *reader) read(ctx context.Context) {
	received, iterator := r.lease.checkpoint, (*string)(nil)
	polled := time.Now() // when the shard was last polled, in steps of Poll
	for ctx.Err() == nil {
		page, err := r.nextPage(ctx, received, iterator)
		if err != nil {
			iterator = nil
			received = r.failed(ctx, received, err)
			continue
		}
		if n := len(page.Records); n > 0 {
			received = page.Records[n-1].Number
			if !r.hand(ctx, page.Records, received) {
				return
			}
		}
		iterator = page.Next
		r.note(len(page.Records) == 0, iterator == nil)
		if iterator == nil {
			return
		}
		if len(page.Records) > 0 {
			continue // there may be more
		}
		// The time of reading is not added to the pause, so that records do not wait longer.
		now := time.Now()
		if polled = polled.Add(r.Poll); polled.Before(now) {
			polled = now.Add(r.Poll)
		}
		if backoff.Wait(ctx, polled.Sub(now)) != nil {
			return
		}
	}
}

// nextPage reads the next page of records at an iterator, or, if it is nil, after the record
// received. It reports the read to the hooks.
func (r *reader) nextPage(ctx context.Context, received string, iterator *string) (page wire.Records, err error) {
	if onRead := r.Group.Config.Hooks.OnStreamRead; onRead != nil {
		start := time.Now()
		defer func() {
			if ctx.Err() == nil {
				onRead(ctx, engine.StreamRead{
					Group: r.Group.Config.Name, Shard: r.lease.shard, Records: len(page.Records), Duration: time.Since(start),
					Err: dynamo.WithReason(err),
				})
			}
		}()
	}
	if iterator == nil {
		if iterator, err = r.iterator(ctx, received); err != nil {
			return wire.Records{}, err
		}
	}
	return r.records(ctx, iterator)
}

// errUnread reports why records of a shard may be trimmed.
var errUnread = errors.New("the shard could not be read for 12 hours")

// unread requests a sweep if a shard that is read from its oldest record on could not be read for
// so long that the first records may be trimmed. No request reports that: the oldest record is then
// the first one that is left.
func (r *reader) unread(ctx context.Context) error {
	r.mu.Lock()
	known := max(r.lease.at, r.tip.Unix(), r.covered.Unix())
	r.mu.Unlock()
	if !r.away(known) {
		return nil
	}
	r.log(ctx, "records of a stream may have been trimmed before they were read: all ids are swept", "stream.maybe_trimmed", r.lease.shard, errUnread)
	return r.requestSweepOfTrimmed(ctx)
}

// requestSweepOfTrimmed requests a sweep for the trimmed records of the shard.
func (r *reader) requestSweepOfTrimmed(ctx context.Context) error {
	now := r.Group.Now()
	if err := r.requestSweep(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.covered = now
	r.Group.StreamDelay.Trimmed.Add(1)
	return nil
}

// iterator returns an iterator after the record received, or at the oldest record if received is
// empty.
func (r *reader) iterator(ctx context.Context, received string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.Arn, ShardId: &r.lease.shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if received == "" {
		if err := r.unread(ctx); err != nil {
			return nil, err
		}
	} else {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &received
	}
	out, err := r.Client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// failed deals with a failed request, and returns the record after which reading continues. If
// records, or the whole shard, were trimmed, it requests a sweep first.
func (r *reader) failed(ctx context.Context, received string, err error) string {
	if ctx.Err() != nil {
		return received
	}
	_, trimmed := errors.AsType[*types.TrimmedDataAccessException](err)
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	_, expired := errors.AsType[*types.ExpiredIteratorException](err)
	switch {
	case expired:
		return received
	case trimmed || gone:
		r.log(ctx, "records of a stream were trimmed before they were read: all ids are swept", "stream.trimmed", r.lease.shard, err)
		if storeErr := r.requestSweepOfTrimmed(ctx); storeErr != nil {
			r.log(ctx, "a requested sweep could not be stored", "stream.sweep_not_stored", r.lease.shard, storeErr)
			break
		}
		if gone {
			r.note(true, true)
			<-ctx.Done() // the lease's next renewal stores that the shard has ended
			return received
		}
		received = ""
	case time.Since(r.loggedAt) >= engine.ReportedEvery:
		r.loggedAt = time.Now()
		r.log(ctx, "a stream can't be read", "stream.unreadable", r.lease.shard, err)
	}
	_ = backoff.Wait(ctx, r.Poll) // the caller checks ctx
	return received
}

// note records whether the shard was read to its newest record, and whether to its end.
func (r *reader) note(tip, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tip {
		r.tip = r.Group.Now()
		r.Group.StreamDelay.Read(r.lease.shard, r.tip)
	}
	if r.over = over; over {
		r.Group.StreamDelay.End(r.lease.shard)
	}
}

// hand triggers the ids of a page of records. It reports false if ctx has ended.
func (r *reader) hand(ctx context.Context, records []wire.Record, last string) bool {
	found := map[string][]engine.Record{}
	for i := range records {
		if pid, ok := triggers(r.Group, &records[i]); ok {
			found[pid] = append(found[pid], r.recordOf(&records[i]))
		}
	}
	if r.slots.Acquire(ctx, int64(len(found)+1)) != nil {
		return false
	}
	page := &recordPage{last: last, left: len(found) + 1, waits: map[*engine.Member]int{}}
	for pid := range found {
		for _, of := range r.Group.Members {
			if of.Only.Takes(pid) {
				page.waits[of]++
			}
		}
	}
	if created := records[len(records)-1].Created; !created.IsZero() {
		page.created = created
		r.Group.StreamDelay.Read(r.lease.shard, page.created)
	}
	r.mu.Lock()
	r.pages = append(r.pages, page)
	r.mu.Unlock()
	for pid, records := range found {
		r.to.Trigger(pid, engine.Trigger{Records: records, Done: func() {
			r.slots.Release(1)
			r.drop(records)
			r.done(page)
		}, Each: func(of *engine.Member) {
			r.mu.Lock()
			defer r.mu.Unlock()
			page.waits[of]--
		}})
	}
	r.done(page)
	return true
}

// done counts an id of a page as done, and moves the checkpoint over the pages that are done.
func (r *reader) done(page *recordPage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	page.left--
	for len(r.pages) > 0 && r.pages[0].left == 0 {
		r.lease.checkpoint = r.pages[0].last
		r.lease.at = max(r.lease.at, r.pages[0].created.Unix())
		r.pages = r.pages[1:]
		r.slots.Release(1)
	}
}
