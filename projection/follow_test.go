package projection_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

// followed records the events that Follow returns.
type followed struct {
	recorder

	stop  func()
	ended chan error
}

// follow starts Follow for a journal, and returns when it has started.
func (b *bundle) follow(change ...func(*projection.FollowOptions)) *followed {
	b.Helper()
	f, started := b.start(func(o *projection.FollowOptions) {
		for _, f := range change {
			f(o)
		}
	})
	select {
	case <-started:
	case err := <-f.ended:
		b.Fatal(err)
	}
	return f
}

// start starts Follow for a journal, with a client of its own or a client of the test. It closes
// started when Follow has called Started.
func (b *bundle) start(change func(*projection.FollowOptions), client ...*dynamodbstreams.Client) (f *followed, started chan struct{}) {
	b.Helper()
	if len(client) == 0 {
		client = append(client, dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	f, started = &followed{stop: cancel, ended: make(chan error, 1)}, make(chan struct{})
	opts := projection.FollowOptions{Poll: time.Millisecond, Started: sync.OnceFunc(func() { close(started) })}
	change(&opts)
	go func() {
		for e, err := range projection.Follow(ctx, b.journal, client[0], opts) {
			if err == nil {
				err = f.Handle(ctx, e)
			}
			if err != nil {
				f.ended <- err
				return
			}
		}
	}()
	b.Cleanup(cancel)
	return f, started
}

func (b *bundle) append(w *dynajournal.Writer, events ...any) {
	b.Helper()
	if _, err := w.Append(b.Context(), events...); err != nil {
		b.Fatal(err)
	}
}

func TestFollow_ReturnsNewEvents(t *testing.T) {
	t.Parallel()
	b := streaming(t, embedded.WithStreamShards(3))
	old := b.write("old", "before")
	many := make([]any, 97)
	for i := range many {
		many[i] = "before"
	}
	long := b.write("long", many...)
	f := b.follow()
	b.append(old, "x")
	b.append(long, "p", "q", "r", "s") // over the end of a partition: 98 to 101
	w := b.write("new", "1", "2")
	b.append(w, "3", "4", "5")
	b.Engine.SplitShards(b.journalTable())
	b.append(long, "t")
	b.append(w, "6")
	until(t, "all come", func() bool { return len(f.of("new")) == 6 && len(f.of("long")) == 5 && len(f.of("old")) == 1 })
	want(t, "old", f.of("old"), "2 x")
	want(t, "long", f.of("long"), "98 p", "99 q", "100 r", "101 s", "102 t")
	want(t, "new", f.of("new"), "1 1", "2 2", "3 3", "4 4", "5 5", "6 6")

	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	b.write("new", "again")
	until(t, "the new life comes", func() bool { return len(f.of("new")) == 7 })
	if got := f.of("new")[6]; got != "1 again" {
		t.Errorf("after a purge: %s", got)
	}
	f.stop()
	wantError(t, "Follow", comes(t, "the end", f.ended), context.Canceled)
}

func (b *bundle) journalTable() string { return dynajournal.DefaultJournalTable }

// Many writers write concurrently while shards are split.
func TestFollow_OrderPerID(t *testing.T) {
	t.Parallel()
	b := streaming(t, embedded.WithStreamShards(4))
	f := b.follow()
	const ids, events = 8, 60
	var writing sync.WaitGroup
	for i := range ids {
		writing.Go(func() {
			w := b.write(fmt.Sprint("i", i))
			for n := 0; n < events; n += 3 {
				b.append(w, n+1, n+2)
				b.append(w, n+3)
			}
		})
	}
	b.Engine.SplitShards(b.journalTable())
	writing.Wait()
	var all []string
	for n := range events {
		all = append(all, fmt.Sprintf("%d %d", n+1, n+1))
	}
	for i := range ids {
		pid := fmt.Sprint("i", i)
		until(t, pid, func() bool { return len(f.of(pid)) >= events })
		if got := f.of(pid); !slices.Equal(got, all) {
			t.Errorf("%s: %q", pid, got)
		}
	}
}

// Follow costs 2 requests for a page of records of one persistence id, and nothing while nothing is
// written.
func TestFollow_Costs(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	w := b.write("a", "x")
	var spent costs
	b.journal = b.Journal(spent.install)
	f := b.follow()
	spent.take()
	b.append(w, "y")
	until(t, "it comes", func() bool { return len(f.of("a")) == 1 })
	if got := spent.take(); got.Requests > 2 || got.ReadUnits > 3 || got.WriteUnits > 0 {
		t.Errorf("one event: %+v", got)
	}
	f.stop()
	comes(t, "the end", f.ended)
	if got := spent.take(); got.Requests > 0 {
		t.Errorf("the rest: %+v", got)
	}
}

func TestFollow_NoStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := dynamodbstreams.NewFromConfig(b.Engine.AWSConfig())
	follow := func(j *dynajournal.Journal, client *dynamodbstreams.Client, opts projection.FollowOptions) error {
		for _, err := range projection.Follow(t.Context(), j, client, opts) {
			return err
		}
		return nil
	}
	var none projection.FollowOptions
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		client := dynamodbstreams.NewFromConfig(b.Engine.AWSConfig())
		for _, err := range projection.Follow(t.Context(), b.journal, client, projection.FollowOptions{}) {
			wantError(t, "without a stream", err, projection.ErrNoStream)
		}
	})
	wantError(t, "without a journal", follow(nil, client, none), dynajournal.ErrInvalidArgument)
	wantError(t, "without a client", follow(b.journal, nil, none), dynajournal.ErrInvalidArgument)
	wantError(t, "with a poll", follow(b.journal, client, projection.FollowOptions{Poll: -1}), dynajournal.ErrInvalidArgument)

	s := streaming(t)
	f := s.follow()
	if _, err := s.table.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(s.journalTable()), StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}); err != nil {
		t.Fatal(err)
	}
	wantError(t, "a stream that is disabled", comes(t, "the end", f.ended), projection.ErrNoStream)
}
