package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/projection"
)

// streamed has two journals on the same tables with a stream: writer writes, reader is for
// projections. The tables belong to it alone.
type streamed struct {
	config         dynajournal.Config
	writer, reader *dynajournal.Journal
	// written counts the requests of the writing journal.
	written requestCount
	// ofEvents counts the requests of projections to the journal table. ofRows counts their
	// requests to the projections table.
	// last is the end of the last of these requests, in nanoseconds since 1970.
	ofEvents, ofRows requestCount
	last             atomic.Int64
	// streams is the projections' client. Its requests pass the gate.
	streams *dynamodbstreams.Client
	gate    *gate
}

// openStreamed creates tables with a stream of the given view.
func (s *session) openStreamed(ctx context.Context, name string, view types.StreamViewType) (*streamed, error) {
	d := &streamed{config: s.options.Config}
	d.config.JournalTable = s.tables.config.JournalTable + "-" + name
	d.config.SnapshotTable, d.config.SequenceShards = d.config.JournalTable+"-snapshot", nativeShards
	d.config.JournalName = s.tables.config.JournalName
	plain := bareConfig(d.config)
	delayed := plain.Copy()
	d.gate = newGate(plain.HTTPClient)
	delayed.HTTPClient = d.gate
	d.streams = dynamodbstreams.NewFromConfig(delayed)
	if err := d.create(ctx, dynamodb.NewFromConfig(plain), view); err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	return d, nil
}

func (d *streamed) create(ctx context.Context, client *dynamodb.Client, view types.StreamViewType) error {
	image := view == types.StreamViewTypeNewImage
	if err := dynajournal.CreateTables(ctx, d.config, dynajournal.TableOptions{Projections: true, Stream: image}); err != nil {
		return err
	}
	if !image {
		if err := enableStream(ctx, client, d.config.JournalTable, view); err != nil {
			return err
		}
	}
	var err error
	if d.writer, err = d.open(ctx, d.written.OnRequest); err != nil {
		return err
	}
	d.reader, err = d.open(ctx, d.count)
	return err
}

// enableStream enables the stream of a table.
func enableStream(ctx context.Context, client *dynamodb.Client, table string, view types.StreamViewType) error {
	_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:           &table,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	})
	if err == nil {
		err = dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table},
			tableTimeout)
	}
	if err != nil {
		return fmt.Errorf("enable the stream of table %q: %w", table, err)
	}
	return nil
}

func (d *streamed) open(
	ctx context.Context, count func(context.Context, dynajournal.Request),
) (*dynajournal.Journal, error) {
	config := d.config
	config.Hooks = append([]dynajournal.Hook{{OnRequest: count}}, config.Hooks...)
	return dynajournal.Open(ctx, config)
}

// count counts a request of projections.
func (d *streamed) count(ctx context.Context, r dynajournal.Request) {
	if r.Table == d.config.JournalTable {
		d.ofEvents.OnRequest(ctx, r)
	} else {
		d.ofRows.OnRequest(ctx, r)
	}
	d.last.Store(time.Now().UnixNano())
}

// cost returns the cost of the projections so far.
func (d *streamed) cost() dynajournal.Cost { return d.ofEvents.cost().Add(d.ofRows.cost()) }

// close closes the journals and deletes the tables, even if ctx has ended.
func (d *streamed) close(ctx context.Context) error {
	d.gate.open()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	var all []error
	for _, j := range []*dynajournal.Journal{d.writer, d.reader} {
		if j != nil {
			all = append(all, j.Close())
		}
	}
	if _, err := dynajournal.DeleteTables(ctx, d.config); !errors.Is(err, dynajournal.ErrTableNotFound) {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// following is a running group.
type following struct {
	*streamed
	*projection.Group

	// handled counts the events with which handlers were called.
	handled atomic.Int64
	ended   chan struct{}
	err     error
	cancel  context.CancelFunc
}

// handle is a handler that only counts events.
func (f *following) handle(context.Context, dynajournal.Event) error {
	f.handled.Add(1)
	return nil
}

// effect returns a handler that puts an item for each event into a table with a journal's key.
func (f *following) effect(table string) projection.TransactionalFunc {
	return func(_ context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
		f.handled.Add(1)
		return []types.TransactWriteItem{effectOf(table, e.PersistenceID, e.SequenceNumber)}, nil
	}
}

// effectOf returns the effect of an event.
func effectOf(table, pid string, seq int64) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: layout.Attributes{
		layout.AttrPar: &types.AttributeValueMemberS{Value: "effect-" + pid},
		layout.AttrNum: &types.AttributeValueMemberN{Value: fmt.Sprint(seq)},
		"payload":      &types.AttributeValueMemberB{Value: payload},
	}}}
}

// follow runs a group of one projection, which the function of returns.
func (d *streamed) follow(
	ctx context.Context, config projection.Config, of func(*following) projection.Projection,
) (*following, error) {
	f := &following{streamed: d, ended: make(chan struct{})}
	var err error
	if f.Group, err = projection.New(d.reader, config, of(f)); err != nil {
		return nil, err
	}
	ctx, f.cancel = context.WithCancel(ctx)
	go func() {
		defer close(f.ended)
		f.err = f.Run(ctx)
	}()
	return f, nil
}

// end stops the group and returns its error. It may be called again.
func (f *following) end() error {
	f.cancel()
	<-f.ended
	return f.err
}

// Times for waiting for a group.
const (
	briefPause = time.Millisecond
	// quiet is the time without requests after which a group counts as idle.
	quiet = 250 * time.Millisecond
)

// until waits until holds returns true. It returns an error if the group ends first.
func (f *following) until(ctx context.Context, done func() bool) error {
	pause := time.NewTicker(briefPause)
	defer pause.Stop()
	for !done() {
		select {
		case <-pause.C:
		case <-f.ended:
			return errors.Join(errors.New("the projections ended"), f.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// idle reports whether the group has handled all records that it has received.
func (f *following) idle() bool { return f.Lag()[0].IDs == 0 }

// waitUntilHandled waits until the handlers were called with n events and their offsets are stored.
func (f *following) waitUntilHandled(ctx context.Context, n int64) error {
	return f.until(ctx, func() bool { return f.handled.Load() >= n && f.idle() })
}

// waitUntilIdle waits until the group has sent no requests for a while. Then it has listed all
// persistence ids, and is at the end of the stream.
func (f *following) waitUntilIdle(ctx context.Context) error {
	start := time.Now()
	return f.until(ctx, func() bool {
		last := time.Unix(0, f.last.Load())
		return f.idle() && time.Since(start) >= quiet && time.Since(last) >= quiet
	})
}

// appendEach lets each writer append n single events, all writers at the same time.
func appendEach(ctx context.Context, writers []*dynajournal.Writer, n int) error {
	var all sync.WaitGroup
	errs := make([]error, len(writers))
	for i, w := range writers {
		all.Go(func() {
			for range n {
				if _, errs[i] = w.Append(ctx, payload); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
