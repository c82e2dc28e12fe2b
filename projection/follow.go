package projection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
	"github.com/dynajournal/dynajournal/projection/internal/stream"
)

// FollowOptions are the options of [Follow]. The zero value has the defaults.
type FollowOptions struct {
	// Poll is the pause after a response without records.
	//
	// Defaults to 250 milliseconds.
	Poll time.Duration

	// Started, if set, is called when each shard of the stream was read once: all events that are
	// written from then on will be returned. The goroutine of the loop calls it. Events may be
	// returned before.
	Started func()
}

// Follow returns all events of a journal that are written from now on, until the context ends or
// the loop is left. It returns each event once, and the events of a persistence id in order. It
// reads the stream of the journal table. Writers pay nothing for it. It sends nothing for
// persistence ids that are not written to. For the others it reads the journal once for each page
// of records.
//
// Follow stores nothing: a program that starts again continues with the events that are written
// then. Use a [Group] where no event may be missed. Throttling and outages only delay it, once the
// stream was described and its open shards have iterators; before that, they are errors. Events
// that are deleted or purged before they are read are left out. Follow takes some memory for each
// persistence id whose events it has returned.
//
// Follow describes the stream every 15 seconds, and more often after a shard has ended, because
// DynamoDB may list new shards late. A shard counts as trimmed if none of its records was received
// and it could not be read for 12 hours. After an outage of 15 minutes at the start, and where a
// shard was listed late, Follow may also return events of the minute before it started.
//
// The first event of a persistence id may be left out if it is written while Follow starts, and the
// next event is the first of a new partition of 100 numbers.
//
// DynamoDB allows two readers of a shard: Follow counts as one, the processes of a group as
// another.
//
// Errors: a *dynajournal.ArgumentError; [ErrUnsupported] for a journal that is shared with a JVM;
// [ErrNoStream], also after the last event of a disabled stream, and for a stream so new that
// DynamoDB does not describe it yet; [ErrReplicated]; and errors of requests, such as a
// *types.TrimmedDataAccessException if records were trimmed. After an error the sequence ends.
func Follow(
	ctx context.Context, journal *dynajournal.Journal, client *dynamodbstreams.Client, opts FollowOptions,
) iter.Seq2[dynajournal.Event, error] {
	return func(yield func(dynajournal.Event, error) bool) {
		err := follow(ctx, journal, client, opts, func(e dynajournal.Event) bool { return yield(e, nil) })
		if err != nil {
			yield(dynajournal.Event{}, fmt.Errorf("follow a journal: %w", err))
		}
	}
}

func follow(
	ctx context.Context, journal *dynajournal.Journal, client *dynamodbstreams.Client, opts FollowOptions,
	yield func(dynajournal.Event) bool,
) error {
	switch {
	case journal == nil:
		return engine.Argument("journal", nil, "it must be an open journal")
	case client == nil:
		return engine.Argument("client", nil, "it must be a client for streams")
	case opts.Poll < 0:
		return engine.Argument("FollowOptions.Poll", opts.Poll, "it must not be negative")
	case !journal.Native():
		return fmt.Errorf("the journal is shared with a JVM: %w", ErrUnsupported)
	case opts.Poll == 0:
		opts.Poll = stream.DefaultStreamPoll
	}
	arn, err := stream.ARN(ctx, journal)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := newFollower(journal, client, arn, opts)
	f.wait.Go(func() { f.discover(ctx) })
	defer f.wait.Wait()
	defer cancel() // before the readers are waited for
	for started := f.started; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-started:
			started = nil
			if opts.Started != nil {
				opts.Started()
			}
		case err := <-f.failed:
			return err
		case records := <-f.pages:
			on, err := f.emit(ctx, records, yield)
			if err != nil || !on {
				return err
			}
		}
	}
}

// emit yields the events of a page of records, and the events that follow them in the journal. It
// reports false if the loop was left.
func (f *follower) emit(ctx context.Context, records []types.Record, yield func(dynajournal.Event) bool) (bool, error) {
	for _, id := range f.news(records) {
		for {
			more, err := f.page(ctx, id, yield)
			if errors.Is(err, errLeft) {
				return false, nil
			}
			if err != nil && engine.Passes(err) && backoff.Wait(ctx, f.Poll) == nil {
				continue
			}
			if err != nil {
				return false, err
			}
			if !more {
				break
			}
		}
	}
	return true, nil
}

// errLeft reports that the loop was left.
var errLeft = errors.New("the loop was left")

// followed is a persistence id that has records. start is the first number of the first atomic
// write among them.
type followed struct {
	pid   string
	start int64
}

// news returns the persistence ids with records in a page that are not returned yet, in their
// order. A record up to the last returned event, of the same writer, is of the same life of the
// persistence id, and was returned.
func (f *follower) news(records []types.Record) []*followed {
	var all []*followed
	of := map[string]*followed{}
	for i := range records {
		par, ok := stream.ParOf(&records[i])
		if !ok {
			continue
		}
		pid, ok := f.Group.EventOf(records[i].EventName, par)
		if !ok {
			continue
		}
		seq, start, writer := numbersOf(&records[i])
		if last, known := f.last[pid]; known && seq <= last.Seq && writer == last.Writer {
			continue
		}
		if id, ok := of[pid]; ok {
			id.start = min(id.start, start)
			continue
		}
		of[pid] = &followed{pid, start}
		all = append(all, of[pid])
	}
	return all
}

// numbersOf returns the number of the event of a record, the first number of its atomic write, and
// its writer. Without an image the event counts as a write of its own.
func numbersOf(record *types.Record) (seq, start int64, writer string) {
	const ofPartition = 100
	number := func(value types.AttributeValue) int64 {
		n, _ := value.(*types.AttributeValueMemberN)
		if n == nil {
			return 0
		}
		parsed, _ := strconv.ParseInt(n.Value, 10, 64) // the journal is read then
		return parsed
	}
	if par, ok := record.Dynamodb.Keys[engine.AttrPar].(*types.AttributeValueMemberS); ok {
		partition, _ := strconv.ParseInt(par.Value[strings.LastIndex(par.Value, "-")+1:], 10, 64)
		seq = partition*ofPartition + number(record.Dynamodb.Keys["num"])
	}
	if w, ok := record.Dynamodb.NewImage["writer_uuid"].(*types.AttributeValueMemberS); ok {
		writer = w.Value
	}
	return seq, max(seq-number(record.Dynamodb.NewImage["idx"]), 1), writer
}

// page yields the next events of a persistence id. It reports whether there may be more.
func (f *follower) page(ctx context.Context, id *followed, yield func(dynajournal.Event) bool) (bool, error) {
	const most = 100
	last, known := f.last[id.pid]
	if !known { // nothing before the first record is new
		page, err := core.Of(f.journal).ReadPage(ctx, id.pid, id.start, most)
		if err != nil {
			return false, err
		}
		for i := range page.Events {
			if err := f.deliver(ctx, id.pid, &page.Events[i], yield); err != nil {
				return false, err
			}
		}
		return page.More, nil
	}
	page, err := core.Of(f.journal).ReadPage(ctx, id.pid, max(last.Seq, 1), most)
	if err != nil {
		return false, err
	}
	steps := engine.Plan(last, true, page)
	for i := range steps {
		s := &steps[i]
		if s.Event == nil { // a purge or a gap
			f.last[id.pid] = s.To
			continue
		}
		if err := f.deliver(ctx, id.pid, s.Event, yield); err != nil {
			return false, err
		}
	}
	return page.More || len(steps) > 0 && steps[0].Resets(last), nil
}

// deliver yields an event.
func (f *follower) deliver(
	ctx context.Context, pid string, stored *core.StoredEvent, yield func(dynajournal.Event) bool,
) error {
	f.last[pid] = engine.Offset{Seq: stored.SequenceNumber, Writer: stored.Writer}
	return core.DeliverEvents(ctx, f.journal, stored, func(e dynajournal.Event) error {
		if !yield(e) {
			return errLeft
		}
		return nil
	})
}
