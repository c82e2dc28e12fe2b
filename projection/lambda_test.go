package projection_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

func TestInvocationHandlesItsRecords(t *testing.T) {
	t.Parallel()
	for _, view := range tabletypes.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			b := viewed(t, view)
			w := b.write("a", "x", "y")
			if _, err := w.Append(t.Context(), "z", "u"); err != nil {
				t.Fatal(err)
			}
			b.write("b-1", "v")
			all, e := &recorder{}, newEffects(b, func(dynajournal.Event) error { return nil })
			g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", all), projection.Transactional("effects", e))
			if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
				t.Errorf("the first invocation failed at %s", failed)
			}
			want(t, "a", all.of("a"), "1 x", "2 y", "3 z", "4 u")
			want(t, "b-1", all.of("b-1"), "1 v")
			from := len(b.streamRecords())
			if _, err := w.Append(t.Context(), "w"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.DeleteTo(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time nothing is new
				if failed := b.invoke(g, b.events(from), time.Minute); failed != "" {
					t.Errorf("an invocation failed at %s", failed)
				}
			}
			want(t, "a", all.of("a"), "1 x", "2 y", "3 z", "4 u", "5 w")
			if n := e.count("a"); n != "5" {
				t.Errorf("5 events had %s effects", n)
			}
		})
	}
}

// A handler fails, and is called again by Maintain. Another one never returns. The others are done.
func TestInvocationReportsTheLowestFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		for _, pid := range []string{"a", "b", "c", "d"} {
			b.write(pid, "x")
		}
		var cured atomic.Bool
		all := &recorder{on: func(ctx context.Context, e dynajournal.Event) error {
			switch {
			case cured.Load():
			case e.PersistenceID == "c":
				return errWanted
			case e.PersistenceID == "d":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		config := onLambda()
		config.Attempts, config.RetryLongest = 1000, time.Second
		g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
		records := b.streamRecords()
		if failed := b.invoke(g, b.events(0), 10*time.Second); failed != firstOf(records, "d") {
			t.Errorf("failed at %q, want %q", failed, firstOf(records, "d"))
		}
		want(t, "b", all.of("b"), "1 x")
		cured.Store(true)
		if failed := b.invoke(g, b.events(0), 10*time.Second); failed != "" {
			t.Errorf("failed at %q", failed)
		}
		want(t, "b", all.of("b"), "1 x")
		b.paid(g, "group/all", "c")
		want(t, "c", all.of("c"), "1 x")
		want(t, "d", all.of("d"), "1 x")
	})
}

// No process needs to watch the claim of a killed invocation: it ends with the deadline of the
// invocation.
func TestClaimOfAKilledInvocationIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		config := onLambda()
		config.ClaimTimeout, config.RetryLongest = 24*time.Hour, 10*time.Second
		gate := b.gate("")
		all := &recorder{}
		dying := &recorder{on: func(context.Context, dynajournal.Event) error {
			gate.dead.Store(true)
			return errWanted
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		g := group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), config, projection.AtLeastOnce("all", dying))
		response, err := awslambda.Handler(g)(ctx, b.events(0))
		if err == nil && len(response.BatchItemFailures) == 0 {
			t.Error("the killed invocation has succeeded")
		}
		next := group(t, b.journal, config, projection.AtLeastOnce("all", all))
		if failed := b.invoke(next, b.events(0), 6*time.Second); failed != "" {
			t.Errorf("under the claim of another invocation: lowest failure %q", failed)
		}
		b.paid(next, "group/all", "a")
		want(t, "a", all.of("a"), "1 x")
		if claim := b.row("group/all", "a")["claim"]; claim != nil {
			t.Errorf("the row has a claim: %v", claim)
		}
	})
}

// A handler ignores its context. The response still comes before the deadline.
func TestInvocation_RespondsBeforeDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		b.write("b", "x")
		slow := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.PersistenceID == "b" {
				time.Sleep(time.Hour)
			}
			return nil
		}}
		g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", slow))
		started := time.Now()
		if failed := b.invoke(g, b.events(0), 10*time.Second); failed != firstOf(b.streamRecords(), "b") {
			t.Errorf("failed at %q", failed)
		}
		if took := time.Since(started); took != 9*time.Second {
			t.Errorf("the answer came after %v", took)
		}
		time.Sleep(2 * time.Hour) // for the handler
	})
}

// An event of a JVM comes after a missing number. No process handles it before that number is
// decided. Its record is done.
func TestInvocation_MissingNumberBeforeEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setupShared(t)
		s.put("a", 1, "w")
		s.put("a", 3, "w")
		all := &recorder{}
		config := onLambda()
		config.HoleWait, config.RetryLongest = time.Minute, 10*time.Second
		if failed := s.invoke(group(t, s.Journal(), config, projection.AtLeastOnce("all", all)), s.events(0), 20*time.Second); failed != "" {
			t.Errorf("after a missing number: lowest failure %q", failed)
		}
		for range 5 {
			want(t, "a", all.of("a"), "1 e1")
			time.Sleep(11 * time.Second)
			maintain(t, group(t, s.Journal(), config, projection.AtLeastOnce("all", all)))
		}
		time.Sleep(10 * time.Second)
		for range 3 {
			maintain(t, group(t, s.Journal(), config, projection.AtLeastOnce("all", all)))
			time.Sleep(10 * time.Second)
		}
		want(t, "a", all.of("a"), "1 e1", "3 e3")
	})
}

// Blocks of a persistence id have different keys, so Lambda sends them to several processes at
// once.
func TestBlocksOfAnIDAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		w := b.write("a")
		for range 120 {
			if _, err := w.Append(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
		}
		records := b.streamRecords()
		var running, overlaps atomic.Int64
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			if running.Add(1) > 1 {
				overlaps.Add(1)
			}
			time.Sleep(10 * time.Millisecond)
			running.Add(-1)
			return nil
		}}
		var invocations sync.WaitGroup
		for _, part := range [][]types.Record{records[:len(records)/2], records[len(records)/2:]} {
			g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
			invocations.Go(func() {
				if failed := b.invoke(g, lambdaEvent(t, b.streamARN(), part...), time.Minute); failed != "" {
					t.Errorf("failed at %q", failed)
				}
			})
		}
		invocations.Wait()
		if n := len(all.of("a")); n != 120 || overlaps.Load() > 0 {
			t.Errorf("%d calls, %d at the same time", n, overlaps.Load())
		}
	})
}

// The store is down for longer than an invocation. Nothing becomes stuck, and nothing is lost.
func TestInvocationWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	for _, table := range []string{projectionsTable, dynajournal.DefaultJournalTable}[:testsize.Of(1, 2)] {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := viewed(t, "KEYS_ONLY")
				b.write("a", "x")
				all := &recorder{}
				config := onLambda()
				config.Attempts, config.RetryLongest = 1, time.Second
				j := b.Journal(func(c *dynajournal.Config) { c.Retries = 1 })
				g := group(t, j, config, projection.AtLeastOnce("all", all))
				event := b.events(0)
				up, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: table})
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					response, err := awslambda.Handler(g)(ctx, event)
					cancel()
					if err == nil && len(response.BatchItemFailures) == 0 {
						t.Error("it has succeeded")
					}
				}
				up()
				if failed := b.invoke(g, event, 10*time.Second); failed != "" {
					t.Errorf("failed at %q", failed)
				}
				want(t, "a", all.of("a"), "1 x")
			})
		})
	}
}

// A mapping whose retries are bounded drops records. A sweep finds their events.
func TestDroppedRecordsAreSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		var cured atomic.Bool
		all := &recorder{on: func(ctx context.Context, _ dynajournal.Event) error {
			if cured.Load() {
				return nil
			}
			<-ctx.Done() // each invocation ends before the handler does
			return ctx.Err()
		}}
		config := onLambda()
		config.Attempts, config.RetryLongest = 1000, time.Second
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all))
		source := &eventSource{
			TB: t, client: dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), arn: b.streamARN(), batchSize: 10, lanes: 2, attempts: 2,
			invoke: func(event json.RawMessage) (json.RawMessage, error) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				response, err := awslambda.Handler(g)(ctx, event)
				if err != nil {
					return nil, err
				}
				return json.Marshal(response)
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		reading.Go(func() { source.run(ctx) })
		time.Sleep(time.Minute)
		cancel()
		reading.Wait()
		if source.dropped == 0 {
			t.Error("no record was dropped")
		}
		cured.Store(true)
		start(t, group(t, b.Journal(), fast(), projection.AtLeastOnce("all", all)))
		b.await("group/all", "a", 1)
		want(t, "a", all.of("a"), "1 x")
	})
}
