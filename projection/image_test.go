package projection_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// viewed makes a journal whose table has a stream with a view type.
func viewed(t testing.TB, view types.StreamViewType, options ...embedded.Option) *bundle {
	t.Helper()
	b := setup(t, options...)
	_, err := b.table.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(dynajournal.DefaultJournalTable),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blockReads blocks new requests for records until resume is called. It returns when earlier
// requests have their responses, so that everything written meanwhile comes in one page.
func (b *bundle) blockReads() (resume func()) {
	b.Helper()
	b.records.Lock()
	resume = sync.OnceFunc(b.records.Unlock)
	b.Cleanup(resume)
	return resume
}

// recordsClient counts the requests for records of a bundle. blockReads blocks it.
type recordsClient struct {
	*bundle

	inner aws.HTTPClient
	polls atomic.Int64
}

func (c *recordsClient) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		c.records.RLock()
		defer c.records.RUnlock()
		c.polls.Add(1)
	}
	return c.inner.Do(r)
}

// streams returns a client for the stream of the journal's table.
func (b *bundle) streams() (*dynamodbstreams.Client, *recordsClient) {
	settings := b.Engine.AWSConfig()
	records := &recordsClient{bundle: b, inner: settings.HTTPClient}
	settings.HTTPClient = records
	return dynamodbstreams.NewFromConfig(settings), records
}

// quiet returns a configuration that reads the stream, and whose leases need no request during a
// test.
func (b *bundle) quiet() (projection.Config, *recordsClient) {
	config := fast()
	client, records := b.streams()
	config.Source = projection.Streams(client, projection.StreamsOptions{
		LeaseTimeout: time.Hour, PerSecond: -1, Poll: time.Millisecond,
	})
	return config, records
}

// docs/projections-operate.md states these costs of events from a stream.
func TestCostsOfAStream(t *testing.T) {
	t.Parallel()
	type cost = dynajournal.Cost
	views := map[types.StreamViewType][2]cost{
		// one and 20 events at least once; each event in a transaction costs its own
		types.StreamViewTypeNewImage:        {{Requests: 2, WriteUnits: 2}, {Requests: 1, WriteUnits: 4}},
		types.StreamViewTypeNewAndOldImages: {{Requests: 2, WriteUnits: 2}, {Requests: 1, WriteUnits: 4}},
		types.StreamViewTypeKeysOnly:        {{Requests: 4, ReadUnits: 3, WriteUnits: 2}, {Requests: 3, ReadUnits: 3, WriteUnits: 4}},
		types.StreamViewTypeOldImage:        {{Requests: 4, ReadUnits: 3, WriteUnits: 2}, {Requests: 3, ReadUnits: 3, WriteUnits: 4}},
	}
	for view, costOf := range views {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			for i, of := range []func(e *effects) projection.Projection{
				func(*effects) projection.Projection { return projection.AtLeastOnce("all", &recorder{}) },
				func(e *effects) projection.Projection { return projection.Transactional("all", e) },
			} {
				b := viewed(t, view)
				e := &effects{bundle: b}
				e.table()
				var spent costs
				config, records := b.quiet()
				g := group(t, b.Journal(spent.install), config, of(e))
				stop := start(t, g)
				b.awaitQuiet()
				w := b.write("a")
				more := func(what string, events int) cost {
					t.Helper()
					resume := b.blockReads()
					last := int64(0)
					for range events {
						result, err := w.Append(t.Context(), "x")
						if err != nil {
							t.Fatal(err)
						}
						last = result.Last
					}
					resume()
					b.await("group/all", "a", last)
					until(t, what, func() bool { return g.Lag()[0].IDs == 0 })
					return spent.take()
				}
				more("the first event", 1) // its row was not written yet, and its writer is new
				one, many := more("one event", 1), more("20 events", 20)
				wantMany := costOf[i]
				if i > 0 { // each event has a transaction
					wantMany.Requests += 19
					wantMany.WriteUnits *= 20
				}
				if one != costOf[i] || many != wantMany {
					t.Errorf("one event: %+v, want %+v; 20: %+v, want %+v", one, costOf[i], many, wantMany)
				}
				polls := records.polls.Load()
				until(t, "ten polls", func() bool { return records.polls.Load() >= polls+10 })
				if idle := spent.take(); idle != (cost{}) {
					t.Errorf("idle: %+v", idle)
				}
				stop()
			}
		})
	}
}

// All view types lead to the same events, including events that must be read: of new writers and
// atomic writes.
func TestEachViewShowsTheSameEvents(t *testing.T) {
	t.Parallel()
	for _, view := range types.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			b := viewed(t, view, embedded.WithStreamShards(2))
			all := &recorder{}
			start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all)))
			b.awaitQuiet()
			var wanted []string
			last := 0
			for writer := range 3 {
				w := b.write("a")
				for _, n := range []int{1, 3, 1, 1, 2, 1} {
					events := make([]any, n)
					for i := range events {
						last++
						events[i] = fmt.Sprint("w", writer)
						wanted = append(wanted, fmt.Sprint(last, " w", writer))
					}
					if _, err := w.Append(t.Context(), events...); err != nil {
						t.Fatal(err)
					}
				}
			}
			b.await("group/all", "a", int64(last))
			want(t, "a", all.of("a"), wanted...)
		})
	}
}

// A process dies in the middle of an atomic write. The image of the stored member has the row's
// writer, and the next number.
func TestIncompleteWriteIsNotHandledFromItsImages(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.awaitQuiet()
	b.write("a", "x")
	b.await("group/all", "a", 1)
	member := b.event("a", 1)
	for name, n := range map[string]string{"num": "2", "seq": "2", "idx": "0", "cnt": "1"} {
		member[name] = &types.AttributeValueMemberN{Value: n}
	}
	_, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(dynajournal.DefaultJournalTable), Item: member})
	if err != nil {
		t.Fatal(err)
	}
	b.write("b", "z")
	b.await("group/all", "b", 1) // after the member in the stream
	until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
	want(t, "all", all.of("a"), "1 x")
	last, err := b.write("a", "y").Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.await("group/all", "a", last)
	want(t, "all", all.of("a"), "1 x", fmt.Sprintf("%d y", last))
}

// event returns the item of an event of the first partition of an id.
func (b *bundle) event(pid string, seq int64) map[string]types.AttributeValue {
	b.Helper()
	out, err := b.table.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-" + pid + "-0"},
			"num": &types.AttributeValueMemberN{Value: fmt.Sprint(seq)},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Item
}

// Writers of several processes alternate. Each has read the other's last event and records that in
// its own, so no event is read. The first event of a persistence id is not read either.
func TestImagesOfSeveralWriters(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(e *effects) projection.Projection{
		"at least once": func(*effects) projection.Projection { return projection.AtLeastOnce("all", &recorder{}) },
		"transactional": func(e *effects) projection.Projection { return projection.Transactional("all", e) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := viewed(t, types.StreamViewTypeNewImage)
				e := &effects{bundle: b}
				e.table()
				var spent costs
				config, _ := b.quiet()
				g := group(t, b.Journal(spent.install), config, kind(e))
				start(t, g)
				b.awaitQuiet()
				spent.take()
				for seq := range int64(5) {
					b.write("a", "x")
					b.await("group/all", "a", seq+1)
					synctest.Wait()
					got, row := spent.take(), 0.0
					if seq == 0 {
						row = 1 // nothing of the id was kept
					}
					if got.ReadUnits != row {
						t.Errorf("event %d of a new writer: %+v", seq+1, got)
					}
				}
			})
		})
	}
}

// A persistence id was erased and used again. The record of its first event is lost. The next event
// has another writer, and the number after the row's offset.
func TestImageAfterALostOneOfAnotherLife(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
	w := b.write("a", "x")
	if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	b.write("a", "y")
	before := len(b.streamRecords())
	b.write("a", "z")
	if failed := b.invoke(g, b.events(before), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	want(t, "all", all.of("a"), "1 x", "purge at 1", "1 y", "2 z")
}

// A journal is restored from a copy that has only a part of an atomic write, which the projection
// has handled completely. The next event does not count as the one after that write.
func TestImageAfterAPartOfAWrite(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
	w := b.write("a", "x")
	if _, err := w.Append(t.Context(), "c", "d"); err != nil {
		t.Fatal(err)
	}
	if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	b.deleteItem(dynajournal.DefaultJournalTable, b.event("a", 2))
	b.write("a", "e")
	if failed := b.invoke(g, b.events(len(b.streamRecords())-1), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	want(t, "all", all.of("a"), "1 x", "2 c", "3 d", "purge at 3", "1 x", "4 e")
}

// The record of the first event of a persistence id arrives after the start of a projection with
// FromNow. The event existed before the start, and is erased.
func TestFirstImageFromNow(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	w := b.write("a", "x")
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	all := &recorder{}
	g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all, projection.FromNow()))
	if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	want(t, "all", all.of("a"))
}

// A handler was called with the first event of a persistence id, and its process was killed before
// the offset was stored. The persistence id was erased and used again.
func TestFirstImageOfAnotherLife(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	w := b.write("a", "x")
	row := rowKey("group/all", "a")
	row["first_writer"] = b.event("a", 1)["writer_uuid"]
	b.put(projectionsTable, row)
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	before := len(b.streamRecords())
	b.write("a", "y")
	all := &recorder{}
	g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
	if failed := b.invoke(g, b.events(before), time.Minute); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	want(t, "a", all.of("a"), "purge at 0", "1 y")
}

// A purged persistence id is used again: its first events have numbers that the row has from the
// life before.
func TestImageOfAnotherLifeIsRead(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.awaitQuiet()
	w := b.write("a", "x", "x")
	b.await("group/all", "a", 2)
	until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
	resume := b.blockReads()
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	b.write("a", "y", "y", "y")
	resume()
	b.await("group/all", "a", 3)
	want(t, "all", all.of("a"), "1 x", "2 x", "purge at 2", "1 y", "2 y", "3 y")
}

// Another process handles an event after this one has cached the row.
func TestRowCache_ChangedByOtherProcess(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(*recorder, *effects) projection.Projection{
		"at least once": func(r *recorder, _ *effects) projection.Projection { return projection.AtLeastOnce("all", r) },
		"transactional": func(r *recorder, e *effects) projection.Projection {
			e.on = func(_ context.Context, event dynajournal.Event) error {
				r.note(event.PersistenceID, fmt.Sprint(event.SequenceNumber))
				return nil
			}
			return projection.Transactional("all", e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			e := newEffects(b, func(dynajournal.Event) error { return nil })
			all := &recorder{}
			g := group(t, b.journal, b.streamed(), handler(all, &effects{bundle: b}))
			start(t, g)
			b.awaitQuiet()
			w := b.write("a", "x")
			b.await("group/all", "a", 1)
			until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
			resume := b.blockReads()
			if _, err := w.Append(t.Context(), "y"); err != nil {
				t.Fatal(err)
			}
			stop := start(t, group(t, b.Journal(), fast(), handler(&recorder{}, e)))
			b.await("group/all", "a", 2)
			stop()
			resume()
			if _, err := w.Append(t.Context(), "z"); err != nil {
				t.Fatal(err)
			}
			b.await("group/all", "a", 3)
			until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
			got := all.of("a")
			if name == "at least once" {
				want(t, "the first process", got, "1 x", "3 z")
				return
			}
			if n := e.count("a"); n != "3" || !slices.Contains(got, "3") {
				t.Errorf("%s effects of 3 events, %q", n, got)
			}
		})
	}
}

// A persistence id becomes stuck in another process after this one has cached its row. This process
// does not handle it, and records the trigger.
func TestRowCache_BecameStuckElsewhere(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	all := &recorder{}
	g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.awaitQuiet()
	w := b.write("a", "x")
	b.await("group/all", "a", 1)
	until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
	resume := b.blockReads()
	if _, err := w.Append(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	config := fast()
	config.Attempts = 1
	stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", projection.HandlerFunc(
		func(context.Context, dynajournal.Event) error { return errWanted },
	))))
	stuckness(b, "group/all", "a")
	stop()
	resume()
	b.awaitQuiet()
	want(t, "all", all.of("a"), "1 x")
	if err := g.Resume(t.Context(), "all", "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "z"); err != nil {
		t.Fatal(err)
	}
	b.await("group/all", "a", 3)
	want(t, "all", all.of("a"), "1 x", "2 y", "3 z")
}
