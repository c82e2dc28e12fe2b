package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// inSeconds returns a configuration with pauses of seconds.
func inSeconds() projection.Config {
	config := fast()
	config.Source = projection.Sweep(projection.SweepOptions{Every: 1000 * time.Hour, PerSecond: -1})
	config.RetryShortest, config.RetryLongest = time.Second, 10*time.Second
	return config
}

// readsStream returns a configuration that reads the stream, with the default durations.
func (b *bundle) readsStream() projection.Config {
	config := fast()
	config.RetryShortest, config.RetryLongest = 0, 0
	config.Source = projection.Streams(dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), projection.StreamsOptions{PerSecond: -1})
	return config
}

func numbered(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

// delayedWhile returns a handler that returns Delayed while down is set.
func delayedWhile(down *atomic.Bool) *recorder {
	return &recorder{on: func(context.Context, dynajournal.Event) error {
		if down.Load() {
			return projection.Delayed(errDown)
		}
		return nil
	}}
}

// debts returns the number of persistence ids in the index of debts.
func (b *bundle) debts(name string) int {
	b.Helper()
	out, err := b.table.Query(b.Context(), &dynamodb.QueryInput{
		TableName: aws.String(projectionsTable), IndexName: aws.String("debts"), KeyConditionExpression: aws.String("debt = :of"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":of": textOf("journal\x00" + name)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return len(out.Items)
}

// unindexed removes the index of debts: a table that an earlier version has made has no index.
func (b *bundle) unindexed() {
	b.Helper()
	_, err := b.table.UpdateTable(b.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(projectionsTable), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
			Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("debts")},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// The target of an outbox is down. The read model of the same group has all events within seconds,
// and the checkpoint of the stream moves. When the target can be reached, all messages are sent, by
// another process than the one that has read the records.
func TestDebt_OutageDelaysOnlyItsProjection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := testsize.Of(120, 700)
		b := streaming(t)
		box, model := &postbox{}, &recorder{}
		box.answer(func(outbox.Message) error { return errDown })
		members := []projection.Projection{outbox.New("out", box, oneEach), projection.AtLeastOnce("model", model)}
		g := group(t, b.Journal(), b.readsStream(), members...)
		stop := start(t, g)
		for i := range ids {
			b.write(fmt.Sprint("id-", i), "x")
		}
		time.Sleep(15 * time.Second)
		for i := range ids {
			want(t, "the read model", model.of(fmt.Sprint("id-", i)), "1 x")
		}
		if n := b.debts("group/out"); n != ids {
			t.Errorf("%d persistence ids have a debt, want %d", n, ids)
		}
		time.Sleep(15 * time.Second) // a lease is renewed
		for _, lag := range g.Lag() {
			if lag.IDs != 0 || lag.Projection == "group/out" && (lag.Debts != 100 || lag.Oldest < 20*time.Second || lag.Delayed != 0) {
				t.Errorf("%+v", lag)
			}
		}
		positions, err := operator.New(b.journal, "group/out").Positions(t.Context(), dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()))
		if err != nil || len(positions) != 1 || positions[0].Delay > 10*time.Second {
			t.Errorf("the checkpoint is %+v, %v", positions, err)
		}
		tried := len(box.all())
		if tried > 100 {
			t.Errorf("the target was tried %d times before the outage was known", tried)
		}
		time.Sleep(time.Hour)
		if tries := len(box.all()) - tried; tries < 180 || tries > 400 {
			t.Errorf("in an hour the target was tried %d times, want once in 10 seconds", tries)
		}
		stop()
		box.answer(nil)
		start(t, group(t, b.Journal(), b.readsStream(), members...))
		for i := range ids {
			b.await("group/out", fmt.Sprint("id-", i), 1)
		}
		time.Sleep(time.Second) // for the ends of the payments
		if n := b.debts("group/out"); n != 0 {
			t.Errorf("%d persistence ids have a debt", n)
		}
		for i := range ids {
			if row := b.row("group/out", fmt.Sprint("id-", i)); len(row) != 3 {
				t.Errorf("the row has %v", row)
			}
		}
	})
}

// An event is appended after a payment has read the journal. Its trigger is done, and it is
// handled.
func TestTriggerDuringAPayment(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(*bundle, *recorder) projection.Projection{
		"at least once": func(_ *bundle, all *recorder) projection.Projection { return projection.AtLeastOnce("all", all) },
		"transactional": func(b *bundle, all *recorder) projection.Projection {
			e := newEffects(b, nil)
			e.on = all.on
			return projection.Transactional("all", e)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				var down, pays atomic.Bool
				down.Store(true)
				started, goes := make(chan struct{}), make(chan struct{})
				all := &recorder{on: func(context.Context, dynajournal.Event) error {
					if down.Load() {
						return projection.Delayed(errDown)
					}
					if pays.CompareAndSwap(false, true) {
						close(started)
						<-goes
					}
					return nil
				}}
				w := b.write("a", "x")
				g := group(t, b.Journal(), inSeconds(), of(b, all))
				start(t, g)
				time.Sleep(6 * time.Second)
				if b.debts("group/all") != 1 {
					t.Fatal("no debt is stored")
				}
				down.Store(false)
				comes(t, "a payment", started)
				b.append(w, "y")
				g.Trigger("a")
				synctest.Wait()
				if n := g.Lag()[0].IDs; n != 0 {
					t.Errorf("%d triggers are not done", n)
				}
				close(goes)
				b.await("group/all", "a", 2)
				time.Sleep(time.Second)
				if n := b.debts("group/all"); n != 0 {
					t.Errorf("%d debts are stored", n)
				}
			})
		})
	}
}

// A process dies at each request of a payment in turn. Another one pays.
func TestDebt_PayingProcessDies(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(*bundle, *recorder) projection.Projection{
		"at least once": func(_ *bundle, all *recorder) projection.Projection { return projection.AtLeastOnce("all", all) },
		"transactional": func(b *bundle, all *recorder) projection.Projection {
			e := &effects{bundle: b}
			e.on = all.on
			return projection.Transactional("all", e)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			died := 0
			for _, operation := range []string{"GetItem", "UpdateItem", "TransactWriteItems", "BatchGetItem"} {
				for requests := range 4 {
					synctest.Test(t, func(t *testing.T) {
						b := setup(t)
						newEffects(b, nil)
						b.storedDebt(of)
						gate := b.gate("")
						var reported atomic.Bool
						all := &recorder{on: func(context.Context, dynajournal.Event) error { reported.Store(true); return nil }}
						gate.killAfter(operation, requests+1) // the group begins with one of each
						config := inSeconds()
						config.Attempts = 1
						ctx, cancel := context.WithCancel(t.Context())
						ended := make(chan error, 1)
						g := group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), config, of(b, all))
						go func() { ended <- g.Run(ctx) }()
						time.Sleep(20 * time.Second)
						if gate.dead.Swap(true) {
							died++
						}
						cancel()
						<-ended
						start(t, group(t, b.Journal(), inSeconds(), of(b, all)))
						time.Sleep(3 * time.Minute)
						if row := b.row("group/all", "a"); row["debt"] != nil || b.rowNumber("group/all", "a", "seq") != 1 || !reported.Load() {
							t.Errorf("killed at %s %d: %v", operation, requests, row)
						}
					})
				}
			}
			if died < 8 {
				t.Errorf("the process has died %d times", died)
			}
		})
	}
}

// storedDebt writes an event of a persistence id, and makes a projection store a debt.
func (b *bundle) storedDebt(of func(*bundle, *recorder) projection.Projection) {
	b.Helper()
	b.write("a", "x")
	down := &recorder{on: func(context.Context, dynajournal.Event) error { return projection.Delayed(errDown) }}
	stop := start(b, group(b, b.Journal(), inSeconds(), of(b, down)))
	time.Sleep(6 * time.Second)
	stop()
	if b.debts("group/all") != 1 {
		b.Fatal("no debt is stored")
	}
}

func atLeastOnce(_ *bundle, all *recorder) projection.Projection {
	return projection.AtLeastOnce("all", all)
}

// The row counts the attempts of payments by all processes.
func TestAttemptsOfPaymentsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		var calls atomic.Int64
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			calls.Add(1)
			return errWanted
		}}
		config := inSeconds()
		config.Attempts, config.RetryShortest = 7, 2*time.Second
		stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(6 * time.Second)
		before := calls.Load()
		stop()
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(5 * time.Minute)
		if n := calls.Load(); n != before+int64(config.Attempts) {
			t.Errorf("the handler was called %d times, %d of them before the debt", n, before)
		}
		row := b.row("group/all", "a")
		if !b.isStuck("group/all", "a") || row["claim"] != nil || row["attempts"] != nil {
			t.Errorf("the row is %v", row)
		}
	})
}

// A temporary failure is not an attempt of a payment, however often the payment is retried.
func TestDebt_OutageIsNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		var down atomic.Bool
		down.Store(true)
		config := inSeconds()
		config.Attempts = 1
		all := delayedWhile(&down)
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(10 * time.Minute)
		down.Store(false)
		b.await("group/all", "a", 1)
	})
}

// A payment moves the offset, and the response is lost. Then the journal can't be read. The row
// does not take back an attempt that it no longer counts.
func TestDebt_PaymentResponseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		gate := b.gate("writer = :writer")
		all := &recorder{}
		config := inSeconds()
		config.Attempts = 1
		start(t, group(t, b.Journal(gate.install), config, projection.AtLeastOnce("all", all, projection.OnlyTags("none"))))
		comes(t, "the write of the offset", gate.arrived)
		b.inject("reset,applied,operation=UpdateItem,times=1")
		remove := b.inject("throttling,operation=Query,table=" + dynajournal.DefaultJournalTable)
		gate.release()
		time.Sleep(2 * time.Minute)
		if row := b.row("group/all", "a"); row["debt"] == nil || b.rowNumber("group/all", "a", "attempts") < 0 {
			t.Errorf("the row is %v", row)
		}
		remove()
		time.Sleep(time.Minute)
		if row := b.row("group/all", "a"); row["debt"] != nil || row["claim"] != nil || b.rowNumber("group/all", "a", "seq") != 1 {
			t.Errorf("the row is %v", row)
		}
	})
}

// The event of a payment crashes its process again and again. At last the persistence id is stuck.
func TestDebt_EventThatCrashesPayersIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		config := inSeconds()
		config.Attempts, config.ClaimTimeout = 1, 6*time.Second
		for range 12 {
			gate := b.gate("")
			ctx, cancel := context.WithCancel(t.Context())
			all := &recorder{on: func(context.Context, dynajournal.Event) error {
				gate.dead.Store(true)
				cancel()
				return errWanted
			}}
			go func() {
				time.Sleep(time.Minute)
				cancel()
			}()
			_ = group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), config, projection.AtLeastOnce("all", all)).Run(ctx)
		}
		if !b.isStuck("group/all", "a") {
			t.Errorf("the row is %v", b.row("group/all", "a"))
		}
	})
}

// A handler never returns. Its records are done, and so are later records. Another process handles
// them.
func TestDebt_HandlerNeverReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		var hangs atomic.Bool
		hangs.Store(true)
		never := make(chan struct{})
		returns := sync.OnceFunc(func() { close(never) })
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.PersistenceID == "a" && hangs.CompareAndSwap(true, false) {
				<-never
			}
			return nil
		}}
		w := b.write("a", "x")
		g := group(t, b.Journal(), b.readsStream(), projection.AtLeastOnce("all", all))
		stop := start(t, g)
		t.Cleanup(returns)
		time.Sleep(time.Minute)
		b.append(w, "y")
		b.write("b", "x")
		b.await("group/all", "b", 1)
		time.Sleep(time.Minute)
		want(t, "a", all.of("a"))
		if lag := g.Lag()[0]; lag.IDs != 0 || lag.Overdue != 1 || lag.Debts != 1 {
			t.Errorf("%+v", lag)
		}
		start(t, group(t, b.Journal(), b.readsStream(), projection.AtLeastOnce("all", all)))
		time.Sleep(90 * time.Second) // until the claim counts as dead
		b.await("group/all", "a", 2)
		want(t, "a", all.of("a"), "1 x", "2 y")
		returns()
		time.Sleep(time.Minute)
		stop()
		if row := b.row("group/all", "a"); row["debt"] != nil || row["claim"] != nil {
			t.Errorf("the row is %v", row)
		}
	})
}

// A paused projection pays no debt before it is continued.
func TestPausedProjectionPaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		if err := operator.New(b.journal, "group/all").Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := &recorder{}
		start(t, group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all)))
		time.Sleep(10 * time.Minute)
		want(t, "a", all.of("a"))
		if err := operator.New(b.journal, "group/all").Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.await("group/all", "a", 1)
		time.Sleep(time.Minute)
		if n := b.debts("group/all"); n != 0 {
			t.Errorf("%d debts are stored", n)
		}
	})
}

// Resume at once handles a persistence id that has a debt.
func TestResumePaysADebt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		all := &recorder{on: func(context.Context, dynajournal.Event) error { return errWanted }}
		g := group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all))
		if err := g.Resume(t.Context(), "all", "a"); !errors.As(err, new(*projection.HandlerError)) {
			t.Errorf("Resume: %v", err)
		}
		if row := b.row("group/all", "a"); row["debt"] == nil || row["claim"] != nil {
			t.Errorf("the row is %v", row)
		}
		all.on = nil
		if err := g.Resume(t.Context(), "all", "a"); err != nil {
			t.Errorf("Resume: %v", err)
		}
		want(t, "a", all.of("a"), "1 x")
		if row := b.row("group/all", "a"); len(row) != 3 {
			t.Errorf("the row is %v", row)
		}
	})
}

// Without the index of debts no debt is stored, and triggers wait. If the index is lost, for
// example by a restore without it, the run of a trigger pays the debt of an earlier process.
func TestGroupWithoutTheIndexOfDebts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		b.unindexed()
		b.write("b", "x")
		var down atomic.Bool
		down.Store(true)
		all := delayedWhile(&down)
		g := group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all))
		start(t, g)
		time.Sleep(time.Minute)
		if lag := g.Lag()[0]; lag.IDs != 2 || lag.Delayed != 2 || lag.Debts != 0 {
			t.Errorf("%+v", lag)
		}
		if row := b.row("group/all", "b"); row["debt"] != nil {
			t.Errorf("the row is %v", row)
		}
		down.Store(false)
		b.await("group/all", "a", 1)
		b.await("group/all", "b", 1)
		time.Sleep(time.Second)
		if row := b.row("group/all", "a"); len(row) != 3 {
			t.Errorf("the row is %v", row)
		}
	})
}

// While a debt can't be stored, the trigger is not done.
func TestDebt_CannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		for i := range 5 {
			b.write(fmt.Sprint("id-", i), "x")
		}
		remove := b.inject("throughput-exceeded,operation=UpdateItem,table=" + projectionsTable)
		g := group(t, b.Journal(func(c *dynajournal.Config) { c.Retries = -1 }), inSeconds(), projection.AtLeastOnce("all", &recorder{}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		time.Sleep(time.Second) // it can't register
		remove()
		time.Sleep(11 * time.Second)
		for i := range 5 {
			b.await("group/all", fmt.Sprint("id-", i), 1)
		}
		remove = b.inject("throughput-exceeded,operation=UpdateItem,table=" + projectionsTable)
		for i := range 5 {
			b.append(b.Recover(b.journal, fmt.Sprint("id-", i)), "y")
			g.Trigger(fmt.Sprint("id-", i))
		}
		time.Sleep(time.Minute)
		if lag := g.Lag()[0]; lag.IDs != 5 {
			t.Errorf("triggers are done that nothing has: %+v", lag)
		}
		remove()
		for i := range 5 {
			b.await("group/all", fmt.Sprint("id-", i), 2)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// The calls of one projection never return in time. Other projections still get a worker.
func TestSlowTargetLeavesAWorkerToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		var slow atomic.Bool
		slow.Store(true)
		model := &recorder{}
		send := func(context.Context, outbox.Message) error {
			if slow.Load() {
				time.Sleep(5 * time.Second)
				return errDown
			}
			return nil
		}
		config := inSeconds()
		config.Concurrency = 2
		g := group(t, b.Journal(), config, outbox.New("out", outbox.TargetFunc(send), oneEach), projection.AtLeastOnce("model", model))
		start(t, g)
		time.Sleep(time.Second)
		for i := range 50 {
			b.write(fmt.Sprint("id-", i), "x")
			g.Trigger(fmt.Sprint("id-", i))
		}
		time.Sleep(time.Second)
		for i := range 50 {
			want(t, "the read model", model.of(fmt.Sprint("id-", i)), "1 x")
		}
		slow.Store(false)
		for i := range 50 {
			b.await("group/out", fmt.Sprint("id-", i), 1)
		}
	})
}

// A projection that leaves out a persistence id after it got a debt has no debt.
func TestDebt_IDLeftOutByFilter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		all := &recorder{}
		start(t, group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all, projection.OnlyIDs("b"))))
		time.Sleep(20 * time.Second)
		want(t, "a", all.of("a"))
		if row := b.row("group/all", "a"); row["debt"] != nil || row["claim"] != nil {
			t.Errorf("the row is %v", row)
		}
	})
}

// A payment takes longer than its claim is valid. It does not end the debt: another process has
// claimed the row since, and the payment has not read an event that has come.
func TestDebt_PaymentLosesClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		newEffects(b, nil)
		transactional := func(b *bundle, all *recorder) projection.Projection {
			e := &effects{bundle: b}
			e.on = all.on
			return projection.Transactional("all", e)
		}
		b.storedDebt(transactional)
		slow := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.SequenceNumber == 1 {
				time.Sleep(3 * time.Minute)
			}
			return nil
		}}
		config := inSeconds()
		start(t, group(t, b.Journal(), config, transactional(b, slow)))
		time.Sleep(30 * time.Second) // it is called
		var down atomic.Bool
		down.Store(true)
		other := delayedWhile(&down)
		config.RetryLongest = time.Hour
		config.RetryShortest = time.Hour
		g := group(t, b.Journal(), config, transactional(b, other))
		start(t, g)
		time.Sleep(2 * time.Minute) // it has taken the claim over, and has failed
		b.append(b.Recover(b.journal, "a"), "y")
		g.Trigger("a")
		time.Sleep(2 * time.Minute) // the first one is done
		if row := b.row("group/all", "a"); row["debt"] == nil || b.rowNumber("group/all", "a", "seq") != 1 {
			t.Errorf("the row is %v", row)
		}
		down.Store(false)
		time.Sleep(2 * time.Hour)
		b.await("group/all", "a", 2)
	})
}

// While a process pays, others do not call the handler.
func TestPaymentOfAnotherProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		all := &recorder{on: func(ctx context.Context, _ dynajournal.Event) error {
			return sleepFor(ctx, 19*time.Second)
		}}
		for range 3 {
			start(t, group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all)))
		}
		time.Sleep(5 * time.Minute)
		want(t, "a", all.of("a"), "1 x")
	})
}

// A persistence id becomes stuck while a debt of it is stored: then it is stuck, and the trigger is
// covered.
func TestDebt_IDBecomesStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		gate := b.gate("if_not_exists(debt")
		down := &recorder{on: func(context.Context, dynajournal.Event) error { return projection.Delayed(errDown) }}
		start(t, group(t, b.Journal(gate.install), inSeconds(), projection.AtLeastOnce("all", down)))
		comes(t, "a debt", gate.arrived)
		config := inSeconds()
		config.Attempts = 1
		stop := start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", projection.HandlerFunc(
			func(context.Context, dynajournal.Event) error { return errWanted }))))
		time.Sleep(time.Second)
		stop()
		gate.release()
		time.Sleep(time.Second)
		if row := b.row("group/all", "a"); !b.isStuck("group/all", "a") || row["again"] == nil {
			t.Errorf("the row is %v", row)
		}
	})
}

// docs/projections-operate.md states these costs of an outage.
func TestCostsOfDebts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		var spent costs
		var down atomic.Bool
		down.Store(true)
		all := delayedWhile(&down)
		g := group(t, b.Journal(spent.install), inSeconds(), projection.AtLeastOnce("all", all))
		start(t, g)
		time.Sleep(time.Second)
		spent.take()
		time.Sleep(10 * time.Second)
		// The requests read whether the projection is paused, and the debts.
		if got := spent.take(); got != (dynajournal.Cost{Requests: 2, ReadUnits: 1.5}) {
			t.Errorf("10 seconds without events cost %+v", got)
		}
		for i := range 3 {
			b.write(fmt.Sprint("id-", i), "x")
			g.Trigger(fmt.Sprint("id-", i))
		}
		time.Sleep(8 * time.Second) // the outage is known
		w := b.write("a", "x")
		trigger := func(what string, want dynajournal.Cost) {
			t.Helper()
			spent.take()
			g.Trigger("a")
			synctest.Wait()
			if got := spent.take(); got != want {
				t.Errorf("%s costs %+v, want %+v", what, got, want)
			}
		}
		trigger("the first trigger", dynajournal.Cost{Requests: 4, ReadUnits: 4, WriteUnits: 2})
		b.append(w, "y")
		trigger("a further trigger", dynajournal.Cost{Requests: 1, ReadUnits: 1})
		down.Store(false)
		time.Sleep(time.Minute)
		want(t, "a", all.of("a"), "1 x", "2 y")
		down.Store(true)
		b.append(w, "z")
		g.Trigger("a")
		time.Sleep(10 * time.Second)
		if b.debts("group/all") != 1 {
			t.Fatal("no debt is stored")
		}
		down.Store(false)
		spent.take()
		time.Sleep(10 * time.Second)
		payment := dynajournal.Cost{Requests: 7, ReadUnits: 4.5, WriteUnits: 4} // with another read
		if got := spent.take().Sub(dynajournal.Cost{Requests: 2, ReadUnits: 1.5}); got != payment {
			t.Errorf("a payment costs %+v, want %+v", got, payment)
		}
	})
}

// A payment whose claim another process has taken over meanwhile claims the row again before it
// continues to read. Otherwise the trigger of an event that is appended after the read would be
// done, because the row has a debt and no claim, and then the payment would end the debt.
func TestPaymentClaimsAgainBeforeItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		var down atomic.Bool
		down.Store(true)
		config := inSeconds()
		config.RetryShortest, config.RetryLongest = time.Hour, time.Hour
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", delayedWhile(&down)))
		var armed atomic.Bool
		appended := func() {
			if armed.CompareAndSwap(true, false) {
				b.append(b.Recover(b.journal, "a"), "y")
				g.Trigger("a")
				time.Sleep(time.Second)
			}
		}
		slow := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.SequenceNumber == 1 && !armed.Load() {
				time.Sleep(3 * time.Minute)
			}
			armed.Store(true)
			return nil
		}}
		start(t, group(t, b.Journal(func(c *dynajournal.Config) {
			c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
				if r.Table == dynajournal.DefaultJournalTable { // it has read events
					appended()
				}
			}}}
		}), inSeconds(), projection.AtLeastOnce("all", slow)))
		time.Sleep(30 * time.Second)
		start(t, g) // it takes the claim over, fails, and tries again in an hour
		time.Sleep(5 * time.Minute)
		appended()
		down.Store(false)
		time.Sleep(2 * time.Hour)
		b.await("group/all", "a", 2)
	})
}

// Two processes read the shards of one persistence id, and one of them can't read the index of
// debts. It pays the debt that the other one has stored, and handles more events than its own
// records show.
func TestDebtIsNotPaidFromRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		w := b.write("a", "x")
		all := &recorder{}
		stop := start(t, group(t, b.Journal(), b.readsStream(), projection.AtLeastOnce("all", all)))
		b.await("group/all", "a", 1)
		b.append(w, "y")
		b.append(w, "z")
		b.await("group/all", "a", 3)
		stop()
		// The offset is the first event's. The debt is the third event's.
		row := b.row("group/all", "a")
		row["seq"], row["debt"], row["again"] = numbered(1), textOf("journal\x00group/all"), numbered(1)
		row["due"], row["since"] = numbered(0), numbered(0)
		if _, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(projectionsTable), Item: row}); err != nil {
			t.Fatal(err)
		}
		b.unindexed()
		again := &recorder{}
		g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", again))
		if failed := b.invoke(g, lambdaEvent(b, b.streamARN(), b.streamRecords()[1:2]...), time.Minute); failed != "" {
			t.Errorf("failed at %q", failed)
		}
		want(t, "a", again.of("a"), "2 y", "3 z")
	})
}

// An operator lists the debts with their reasons.
func TestOperatorListsDebts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		ids := testsize.Of(110, 250)
		down := &recorder{on: func(context.Context, dynajournal.Event) error { return projection.Delayed(errDown) }}
		for i := range ids {
			b.write(fmt.Sprint("id-", i), "x")
		}
		stop := start(t, group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", down), projection.AtLeastOnce("other", &recorder{})))
		time.Sleep(30 * time.Second)
		stop()
		for _, name := range []string{"", "group/all"} {
			seen := map[string]bool{}
			for debt, err := range operator.New(b.journal, name).Debts(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				seen[debt.PersistenceID] = true
				age := time.Since(debt.Since)
				if debt.Projection != "group/all" || debt.Reason != errDown.Error() || debt.Offset != 0 || age < 20*time.Second || age > time.Minute || debt.Due.Before(debt.Since) {
					t.Fatalf("%+v", debt)
				}
			}
			if len(seen) != ids {
				t.Errorf("%d debts are listed, want %d", len(seen), ids)
			}
		}
		for range operator.New(b.journal, "").Debts(t.Context()) {
			break
		}
		for debt, err := range operator.New(b.journal, "group/other").Debts(t.Context()) {
			t.Errorf("%+v, %v", debt, err)
		}
		b.unindexed()
		for _, err := range operator.New(b.journal, "group/all").Debts(t.Context()) {
			wantError(t, "without the index", err, operator.ErrNoIndex)
		}
	})
}

// A handler that fails for less than StuckAfter makes nothing stuck, however often it is called. A
// handler that fails for longer does.
func TestHandlerFailsForStuckAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		b.write("poison", "x")
		var cured atomic.Bool
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.PersistenceID == "poison" || !cured.Load() {
				return errWanted
			}
			return nil
		}}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 2, 2*time.Minute
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(100 * time.Second)
		cured.Store(true)
		time.Sleep(15 * time.Second)
		want(t, "a", all.of("a"), "1 x")
		if row := b.row("group/all", "poison"); b.isStuck("group/all", "poison") || b.rowNumber("group/all", "poison", "attempts") < 5 {
			t.Errorf("the row is %v", row)
		}
		time.Sleep(30 * time.Second)
		if s := stuckness(b, "group/all", "poison"); s.Offset != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// The next event of a payment has its own time to fail.
func TestStuckAfter_CountsPerEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		var at atomic.Int64
		at.Store(1)
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if e.SequenceNumber == at.Load() {
				return errWanted
			}
			return nil
		}}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 1, 2*time.Minute
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(100 * time.Second)
		at.Store(2)
		time.Sleep(100 * time.Second)
		if row := b.row("group/all", "a"); b.isStuck("group/all", "a") || b.rowNumber("group/all", "a", "seq") != 1 {
			t.Errorf("the row is %v", row)
		}
		time.Sleep(time.Minute)
		stuckness(b, "group/all", "a")
	})
}

// A payment with many events takes longer than a claim is valid. It is split into several payments,
// so other processes do not take its claim for a dead one.
func TestLongPaymentKeepsItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		const events = 60
		var texts []any
		var wanted []string
		for i := range events {
			texts = append(texts, "x")
			wanted = append(wanted, fmt.Sprint(i+1, " x"))
		}
		b.storedDebt(atLeastOnce)
		if _, err := b.Recover(b.journal, "a").Append(t.Context(), texts[1:]...); err != nil {
			t.Fatal(err)
		}
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			time.Sleep(4 * time.Second)
			return nil
		}}
		config := inSeconds()
		config.BatchSize = 2
		for range 3 {
			start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		}
		time.Sleep(10 * time.Minute)
		want(t, "a", all.of("a"), wanted...)
	})
}

// A sweep during an outage stores no debts of persistence ids that have no new events.
func TestSweepInAnOutageStoresNoDebtOfIdleIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		for i := range 50 {
			b.write(fmt.Sprint("idle-", i), "x")
		}
		var down atomic.Bool
		all := delayedWhile(&down)
		config := inSeconds()
		config.Source = projection.Sweep(projection.SweepOptions{Every: 20 * time.Second, PerSecond: -1})
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(5 * time.Second)
		down.Store(true)
		for i := range 5 {
			b.write(fmt.Sprint("new-", i), "x")
		}
		time.Sleep(5 * time.Minute)
		if n := b.debts("group/all"); n != 5 {
			t.Errorf("%d persistence ids have a debt, want 5", n)
		}
	})
}

// handlerHangs lets the handler of a process hang at the first event of a. Another process handles
// that event. The trigger of the next event is done in the first process, which calls its handler
// once.
func (b *bundle) handlerHangs() {
	b.Helper()
	never := make(chan struct{})
	hangs := &recorder{on: func(context.Context, dynajournal.Event) error {
		<-never
		return nil
	}}
	g := group(b, b.Journal(), inSeconds(), projection.AtLeastOnce("all", hangs))
	start(b, g)
	b.Cleanup(func() { close(never) })
	time.Sleep(time.Minute)
	start(b, group(b, b.Journal(), inSeconds(), projection.AtLeastOnce("all", &recorder{})))
	time.Sleep(2 * time.Minute) // the other process has handled it
	b.append(b.Recover(b.journal, "a"), "y")
	g.Trigger("a")
	time.Sleep(2 * time.Minute)
	if lag := g.Lag()[0]; lag.IDs != 0 || lag.Overdue != 1 {
		b.Errorf("%+v", lag)
	}
	b.await("group/all", "a", 2)
}

// A handler hangs twice at a persistence id. Its triggers are still done.
func TestDebt_HandlerHangsTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		b.handlerHangs()
	})
}

// A system that some persistence ids need is down. The others of the projection are still handled.
func TestOutageOfSomeIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		all := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
			if strings.HasPrefix(e.PersistenceID, "bad") {
				return projection.Delayed(errDown)
			}
			return nil
		}}
		g := group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", all))
		start(t, g)
		time.Sleep(time.Second)
		for i := range 20 {
			b.write(fmt.Sprint("bad-", i), "x")
			g.Trigger(fmt.Sprint("bad-", i))
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			b.write(fmt.Sprint("good-", i), "x")
			g.Trigger(fmt.Sprint("good-", i))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour) // which one is tried is random
		for i := range 20 {
			want(t, "a good one", all.of(fmt.Sprint("good-", i)), "1 x")
		}
	})
}

// An outage ends while sweeps repeatedly read all persistence ids. The debts are paid soon.
func TestOutageEndsWhileSweepsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		var down atomic.Bool
		down.Store(true)
		all := delayedWhile(&down)
		config := inSeconds()
		config.Source = projection.Sweep(projection.SweepOptions{Every: 50 * time.Millisecond, PerSecond: -1})
		for i := range 10 {
			b.write(fmt.Sprint("id-", i), "x")
		}
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(time.Minute)
		down.Store(false)
		time.Sleep(25 * time.Second)
		for i := range 10 {
			want(t, "after the outage", all.of(fmt.Sprint("id-", i)), "1 x")
		}
	})
}

// A handler fails after a long outage. It is not stuck before it has failed for StuckAfter.
func TestFailuresAfterAnOutageCountFromThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		var down, cured atomic.Bool
		down.Store(true)
		all := &recorder{on: func(context.Context, dynajournal.Event) error {
			switch {
			case down.Load():
				return projection.Delayed(errDown)
			case cured.Load():
				return nil
			}
			return errWanted
		}}
		config := inSeconds()
		config.Attempts, config.StuckAfter = 1, 2*time.Minute
		start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		time.Sleep(20 * time.Minute)
		down.Store(false)
		time.Sleep(100 * time.Second)
		cured.Store(true)
		time.Sleep(20 * time.Second)
		want(t, "a", all.of("a"), "1 x")
		if row := b.row("group/all", "a"); len(row) != 3 {
			t.Errorf("the row is %v", row)
		}
	})
}

// The handler of a payment hangs, and another process pays. A later event is not passed to the
// handler that hangs.
func TestDebt_PaymentHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.storedDebt(atLeastOnce)
		b.handlerHangs()
	})
}
