package projection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// attentive changes a configuration so that its group polls for requests every 100 ms.
func attentive(config projection.Config) projection.Config {
	config.Attempts, config.ClaimTimeout = 1, 600*time.Millisecond
	return config
}

// sources returns the configurations of both sources.
func sources(b *bundle) map[string]projection.Config {
	return map[string]projection.Config{"sweep": attentive(fast()), "streams": attentive(b.streamed())}
}

// poisoned is a handler that fails at the second event of each persistence id until it is cured.
type poisoned struct {
	recorder

	cured    atomic.Bool
	failures atomic.Int64
}

func newPoisoned() *poisoned {
	p := &poisoned{}
	p.on = func(_ context.Context, e dynajournal.Event) error {
		if e.SequenceNumber == 2 && !p.cured.Load() {
			p.failures.Add(1)
			return errWanted
		}
		return nil
	}
	return p
}

func (b *bundle) stuckIDs(name string) []string {
	b.Helper()
	var all []string
	for s, err := range operator.New(b.journal, name).Stuck(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %d %d", s.Projection, s.PersistenceID, s.Offset, s.SequenceNumber))
	}
	slices.Sort(all)
	return all
}

func TestListShowsWhatRuns(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	list := func() []operator.Info {
		t.Helper()
		all, err := operator.List(t.Context(), b.journal)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := list(); len(all) > 0 {
		t.Errorf("nothing has run: %+v", all)
	}
	var spent costs
	e := &effects{bundle: b}
	e.table()
	g := group(t, b.Journal(spent.install), b.streamed(), projection.AtLeastOnce("all", &recorder{}), projection.Transactional("effects", e))
	stop := start(t, g)
	other := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}), projection.Transactional("effects", e)))
	var all []operator.Info
	until(t, "both run", func() bool {
		all = list()
		return len(all) == 2 && all[0].Processes == 2 && all[1].Processes == 2
	})
	for i, want := range []operator.Info{
		{Projection: "group/all", Kind: "at-least-once", Source: "streams", Processes: 2},
		{Projection: "group/effects", Kind: "transactional", Source: "streams", Processes: 2},
	} {
		got := all[i]
		if got.Projection != want.Projection || got.Kind != want.Kind || got.Source != want.Source ||
			got.Processes != want.Processes || got.Resetting || time.Since(got.Seen) > time.Minute {
			t.Errorf("%+v", got)
		}
	}
	stop()
	if all := list(); all[0].Processes != 1 {
		t.Errorf("after one has ended: %+v", all)
	}
	other()
	if all := list(); len(all) != 2 || all[1].Processes != 0 {
		t.Errorf("after both have ended: %+v", all)
	}
}

// docs/projections-operate.md states these costs of the registry.
func TestCostsOfTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		var spent costs
		g := group(t, b.Journal(spent.install), fast(), projection.AtLeastOnce("all", &recorder{}))
		for range 2 { // the first time it writes more
			spent.take()
			stop := start(t, g)
			time.Sleep(time.Second)
			b.await("group/all", "a", 1)
			stop()
		}
		if got := spent.take(); got.WriteUnits != 3 { // entered, named, left
			t.Errorf("%+v", got)
		}
		if _, err := operator.List(t.Context(), b.Journal(spent.install)); err != nil {
			t.Fatal(err)
		}
		if got := spent.take(); got.ReadUnits > 3 { // with the header of the journal
			t.Errorf("a list: %+v", got)
		}
	})
}

func TestRequestsAreCarriedOut(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"sweep", "streams"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			b.write("a", "x", "poison", "y")
			b.write("b", "x", "poison")
			p := newPoisoned()
			start(t, group(t, b.journal, sources(b)[source], projection.AtLeastOnce("all", p)))
			stuckness(b, "group/all", "a")
			stuckness(b, "group/all", "b")
			want(t, "stuck", b.stuckIDs("group/all"), "group/all a 1 2", "group/all b 1 2")
			want(t, "stuck in any", b.stuckIDs(""), "group/all a 1 2", "group/all b 1 2")

			// It fails again and is stuck again.
			failures := p.failures.Load()
			if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			until(t, "it is tried again", func() bool { return p.failures.Load() > failures })
			if s := stuckness(b, "group/all", "a"); s.Offset != 1 {
				t.Errorf("%+v", s)
			}
			p.cured.Store(true)
			if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			b.await("group/all", "a", 3)
			want(t, "stuck", b.stuckIDs(""), "group/all b 1 2")
			want(t, "a", p.of("a"), "1 x", "2 poison", "3 y")
			want(t, "b is not touched", p.of("b"), "1 x")
		})
	}
}

// The process that carries out a request stops in the middle of it. Another process carries it out.
func TestRequestSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "poison")
		first := newPoisoned()
		fails := first.on
		arrived := make(chan struct{})
		var retried atomic.Bool
		first.on = func(ctx context.Context, e dynajournal.Event) error {
			if retried.Load() {
				close(arrived)
				<-ctx.Done()
				return ctx.Err()
			}
			return fails(ctx, e)
		}
		stop := start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", first)))
		stuckness(b, "group/all", "a")
		retried.Store(true)
		if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		comes(t, "the event", arrived)
		stop()
		second := newPoisoned()
		second.cured.Store(true)
		start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", second)))
		b.await("group/all", "a", 2)
		want(t, "a", second.of("a"), "2 poison")
	})
}

func TestSkip_FailingEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "poison", "y")
		p := newPoisoned()
		start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", p)))
		stuckness(b, "group/all", "a")
		skip := func(seq int64) (operator.Skipped, error) {
			return operator.New(b.journal, "group/all").Skip(t.Context(), "a", seq)
		}
		for _, wrong := range []int64{0, 1, 1 << 40, 3} { // 1 is the offset
			_, err := skip(wrong)
			if e, ok := errors.AsType[*operator.SkipError](err); !ok || e.Next.Last != 2 || e.Want != wrong {
				t.Errorf("Skip(%d): %v", wrong, err)
			}
		}
		if s, err := skip(2); err != nil || s != (operator.Skipped{First: 2, Last: 2}) {
			t.Fatalf("%+v, %v", s, err)
		}
		until(t, "it is not stuck", func() bool { return len(b.stuckIDs("")) == 0 })
		b.await("group/all", "a", 3)
		want(t, "a", p.of("a"), "1 x", "3 y")
		_, err := skip(operator.AnyNumber)
		wantError(t, "Skip of what is not stuck", err, operator.ErrNotStuck)
	})
}

// deaf is a handler that fails at gaps and purges.
type deaf struct{ recorder }

func (*deaf) HandleGap(context.Context, projection.Gap) error     { return errWanted }
func (*deaf) HandlePurge(context.Context, projection.Purge) error { return errWanted }

func TestSkip_GapsAndPurges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x", "y", "z")
		if _, err := w.DeleteTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		d := &deaf{}
		g := group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", d))
		start(t, g)
		stuckness(b, "group/all", "a")
		if s, err := operator.New(b.journal, "group/all").Skip(t.Context(), "a", 2); err != nil || s != (operator.Skipped{First: 1, Last: 2}) {
			t.Fatalf("%+v, %v", s, err)
		}
		until(t, "it is not stuck", func() bool { return len(b.stuckIDs("")) == 0 })
		b.await("group/all", "a", 3)
		b.purge("a")
		g.Trigger("a")
		stuckness(b, "group/all", "a")
		want(t, "stuck at the purge", b.stuckIDs(""), "group/all a 3 4")
		_, err := operator.New(b.journal, "group/all").Skip(t.Context(), "a", 5)
		if e, ok := errors.AsType[*operator.SkipError](err); !ok || e.Next.Last != 4 || !e.Next.Purge {
			t.Errorf("Skip of another number: %v", err)
		}
		if s, err := operator.New(b.journal, "group/all").Skip(t.Context(), "a", 4); err != nil || s != (operator.Skipped{First: 4, Last: 4, Purge: true}) {
			t.Fatalf("%+v, %v", s, err)
		}
		until(t, "it is not stuck", func() bool { return len(b.stuckIDs("")) == 0 })
		w = b.write("a", "new")
		g.Trigger("a")
		b.await("group/all", "a", 5)
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			t.Fatal(err)
		}
		b.write("a", "erased before")
		g.Trigger("a")
		stuckness(b, "group/all", "a")
		if s, err := operator.New(b.journal, "group/all").Skip(t.Context(), "a", 0); err != nil || s != (operator.Skipped{Purge: true}) {
			t.Fatalf("%+v, %v", s, err)
		}
		b.await("group/all", "a", 1)
		want(t, "a", d.of("a"), "3 z", "5 new", "1 erased before")
	})
}

// While an event is being skipped, another process handles more events of the persistence id.
func TestSkip_RowMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "poison", "y", "bad")
	var cured atomic.Bool
	e := newEffects(b, func(e dynajournal.Event) error {
		if e.SequenceNumber == 2 && !cured.Load() || e.SequenceNumber == 4 {
			return errWanted
		}
		return nil
	})
	config := fast()
	config.Attempts = 1
	g := group(t, b.journal, config, projection.Transactional("effects", e))
	start(t, g)
	stuckness(b, "group/effects", "a")
	gate := b.gate("seq = :seq")
	j := b.Journal(gate.install)
	skipped := make(chan error, 1)
	go func() {
		_, err := operator.New(j, "group/effects").Skip(context.Background(), "a", operator.AnyNumber)
		skipped <- err
	}()
	comes(t, "the request", gate.arrived)
	cured.Store(true)
	wantError(t, "Resume", g.Resume(t.Context(), "effects", "a"), errWanted)
	gate.release()
	if err, ok := errors.AsType[*operator.SkipError](comes(t, "the end of Skip", skipped)); !ok || err.Next.Last != 4 {
		t.Errorf("Skip: %v", err)
	}
	if seq := b.rowNumber("group/effects", "a", "seq"); seq != 3 {
		t.Errorf("the offset is %d", seq)
	}
}

func TestReset_StartsOver(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"sweep", "streams"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			for i := range 30 {
				b.write(fmt.Sprint("i", i), "x")
			}
			run := func(all, other *recorder) func() {
				return start(t, group(t, b.journal, sources(b)[source], projection.AtLeastOnce("all", all), projection.AtLeastOnce("other", other)))
			}
			stop := run(&recorder{}, &recorder{})
			for i := range 30 {
				b.await("group/all", fmt.Sprint("i", i), 1)
				b.await("group/other", fmt.Sprint("i", i), 1)
			}
			if source == "streams" {
				b.awaitQuiet()
			}
			_, err := operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{})
			wantError(t, "Reset while it runs", err, projection.ErrInUse)
			stop()
			var reported int64
			opts := operator.ResetOptions{Progress: func(rows int64) { reported = rows }}
			opts.ReadUnitsPerSecond = 1e6
			if rows, err := operator.New(b.journal, "group/all").Reset(t.Context(), opts); err != nil || rows != 30 || reported != 30 {
				t.Fatalf("%d rows, Progress reported %d: %v", rows, reported, err)
			}
			all, other := &recorder{}, &recorder{}
			run(all, other)
			for i := range 30 {
				b.await("group/all", fmt.Sprint("i", i), 1)
			}
			want(t, "the other", other.of("i0"))
			want(t, "all", all.of("i0"), "1 x")
		})
	}
}

// A reset that is refused because a process runs the projection stores nothing: a process that
// starts at the same time would find the reset, and stop.
func TestRefusedResetStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	var stored atomic.Int64
	j := b.Journal(func(c *dynajournal.Config) {
		c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
			if r.Cost.WriteUnits > 0 {
				stored.Add(1)
			}
		}}}
	})
	_, err := operator.New(j, "group/all").Reset(t.Context(), operator.ResetOptions{})
	wantError(t, "Reset", err, projection.ErrInUse)
	if n := stored.Load(); n != 0 {
		t.Errorf("%d requests have stored something", n)
	}
}

// A reset is killed before each of its requests in turn. The projection does not run before a reset
// is done, and then it handles everything.
func TestInterruptedResetIsFinished(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"BatchWriteItem", "DeleteItem", "UpdateItem"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			for _, pid := range []string{"a", "b"} {
				b.write(pid, "x")
			}
			config := b.streamed()
			stop := start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
			b.await("group/all", "a", 1)
			b.await("group/all", "b", 1)
			b.awaitQuiet()
			stop()
			gate := b.gate("")
			killed := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
			after := map[string]int{"UpdateItem": 1}[operation] // the first one marks the reset
			gate.killAfter(operation, after)
			if _, err := operator.New(killed, "group/all").Reset(t.Context(), operator.ResetOptions{}); err == nil {
				t.Fatal("it was not killed")
			}
			all := &recorder{}
			g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			wantError(t, "Run", g.Run(ctx), projection.ErrResetting)
			if infos, err := operator.List(t.Context(), b.journal); err != nil || !infos[0].Resetting {
				t.Errorf("%+v, %v", infos, err)
			}
			if _, err := operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{}); err != nil {
				t.Fatal(err)
			}
			start(t, g)
			for _, pid := range []string{"a", "b"} {
				b.await("group/all", pid, 1)
				want(t, pid, all.of(pid), "1 x")
			}
		})
	}
}

// A reset with Running also resets a projection that runs.
func TestReset_Running(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	all := &recorder{}
	start(t, group(t, b.journal, attentive(b.streamed()), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	if _, err := operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{Running: true}); err != nil {
		t.Fatal(err)
	}
	until(t, "the projection starts again", func() bool { return len(all.of("a")) == 2 })
	want(t, "a", all.of("a"), "1 x", "1 x")
}

func TestOperator_Errors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, j := t.Context(), b.journal
	calls := map[string]func(j *dynajournal.Journal, name, pid string) error{
		"Retry": func(j *dynajournal.Journal, name, pid string) error {
			return operator.New(j, name).Retry(ctx, pid)
		},
		"Skip": func(j *dynajournal.Journal, name, pid string) error {
			_, err := operator.New(j, name).Skip(ctx, pid, 1)
			return err
		},
		"Reset": func(j *dynajournal.Journal, name, _ string) error {
			_, err := operator.New(j, name).Reset(ctx, operator.ResetOptions{})
			return err
		},
		"Stuck": func(j *dynajournal.Journal, name, _ string) error {
			for _, err := range operator.New(j, name).Stuck(ctx) {
				return err
			}
			return nil
		},
	}
	for what, call := range calls {
		wantError(t, what+" without a journal", call(nil, "group/all", "a"), dynajournal.ErrInvalidArgument)
		for _, name := range []string{"group", "/", "group/", "/all", "group/a/b", "group/\x00", strings.Repeat("g", 101) + "/all"} {
			wantError(t, fmt.Sprintf("%s of %q", what, name), call(j, name, "a"), dynajournal.ErrInvalidArgument)
		}
		wantError(t, what, call(j, "group/all", "a"), projection.ErrNoProjection)
	}
	_, err := operator.List(ctx, nil)
	wantError(t, "List", err, dynajournal.ErrInvalidArgument)
	if _, err := operator.List(ctx, j); err != nil {
		t.Error(err)
	}
	start(t, group(t, j, fast(), projection.AtLeastOnce("all", &recorder{})))
	until(t, "it runs", func() bool { all, err := operator.List(ctx, j); return err == nil && len(all) == 1 })
	for _, what := range []string{"Retry", "Skip"} {
		wantError(t, what+" of no id", calls[what](j, "group/all", ""), dynajournal.ErrInvalidArgument)
	}
	wantError(t, "Skip", calls["Skip"](j, "group/all", "a"), operator.ErrNotStuck)
	_, err = operator.New(j, "group/all").Skip(ctx, "a", -2)
	wantError(t, "Skip of a number", err, dynajournal.ErrInvalidArgument)
}

// A row that can't be read does not hide other stuck persistence ids.
func TestDamagedRowIsListedAsStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("c", "x")
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "c", 1)
	stop()
	for pid, seq := range map[string]types.AttributeValue{
		"a": &types.AttributeValueMemberS{Value: "seven"}, "b": &types.AttributeValueMemberN{Value: "7"},
	} {
		item := rowKey("group/all", pid)
		item["seq"], item["debt"] = seq, &types.AttributeValueMemberS{Value: "journal\x00group/all"}
		item["due"] = &types.AttributeValueMemberN{Value: fmt.Sprint(1<<53 - 1)}
		if _, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(projectionsTable), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "stuck", b.stuckIDs(""), "group/all a 0 0", "group/all b 7 0")
}

// The offsets of a projection of SQL are in its database: operations that would change or compare
// them are refused.
func TestOffsetsInSQLAreNotTouched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	stop()
	_, err := b.table.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(projectionsTable),
		Key:                       map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal\x00group/all"}},
		UpdateExpression:          aws.String("SET handler_kind = :sql"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":sql": &types.AttributeValueMemberS{Value: "sql"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = operator.New(b.journal, "group/all").Skip(t.Context(), "a", 1)
	wantError(t, "Skip", err, projection.ErrUnsupported)
	_, err = operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{})
	wantError(t, "Reset", err, projection.ErrUnsupported)
	for _, err := range operator.New(b.journal, "group/all").Audit(t.Context(), operator.AuditOptions{}) {
		wantError(t, "Audit", err, projection.ErrUnsupported)
	}
	want(t, "the audit of all", b.audit("", operator.AuditOptions{MinAge: -1}))
	if b.rowNumber("group/all", "a", "seq") != 1 {
		t.Error("the row is gone")
	}
}

// processes returns the number of processes that run the only projection, as operators see it.
func (b *bundle) processes() int {
	b.Helper()
	all, err := operator.List(b.Context(), b.journal)
	if err != nil {
		b.Fatal(err)
	}
	if len(all) == 0 { // its name is stored after the first process
		return 0
	}
	return all[0].Processes
}

// rememberedProcesses returns the number of processes in the item of the only projection.
func (b *bundle) rememberedProcesses() int {
	b.Helper()
	n := 0
	for _, item := range b.items("handler_kind") {
		for name := range item {
			if strings.HasPrefix(name, "process_") {
				n++
			}
		}
	}
	return n
}

// Each process is counted, even if several start at once after another one has crashed. A process
// that starts removes those that no longer count.
func TestProcessesThatStartAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		launch := func(gates ...func(*dynajournal.Config)) (stop func()) {
			return start(t, group(t, b.Journal(gates...), inSeconds(), projection.AtLeastOnce("all", &recorder{})))
		}
		gate := b.gate("")
		stop := launch(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
		time.Sleep(time.Second)
		gate.dead.Store(true)
		stop()
		if n := b.processes(); n != 1 {
			t.Errorf("%d processes, one of which has just crashed", n)
		}
		time.Sleep(5 * time.Minute)
		if n := b.processes(); n != 0 {
			t.Errorf("%d processes, 5 minutes after the last one has crashed", n)
		}
		var stops []func()
		for range 3 {
			stops = append(stops, launch())
		}
		time.Sleep(time.Second)
		if n := b.processes(); n != 3 {
			t.Errorf("%d processes, 3 have started", n)
		}
		if n := b.rememberedProcesses(); n != 3 {
			t.Errorf("%d processes are remembered", n)
		}
		for i, stop := range stops {
			stop()
			if n := b.processes(); n != 2-i {
				t.Errorf("%d processes, %d have ended", n, i+1)
			}
		}
	})
}

// A process of version 0.1.0 also counts. It registers in another form.
func TestProcessesOfVersion010AreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	until(t, "the process", func() bool { return b.processes() == 1 })
	stop()
	item := b.items("handler_kind")[0]
	item["workers"] = &types.AttributeValueMemberSS{Value: []string{"one", "another"}}
	item["seen_until"] = &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(time.Minute).UnixMilli())}
	b.put(projectionsTable, item)
	if n := b.processes(); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// A projection is run by so many processes that a further one registers only once. Processes that
// no longer count are removed, some at a time.
func TestCrowdedProjection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		const dead, living = 70, 101
		item := map[string]types.AttributeValue{
			"par":          &types.AttributeValueMemberS{Value: "journal\x00group/all"},
			"handler_kind": &types.AttributeValueMemberS{Value: "at-least-once"},
		}
		for i := range dead + living {
			until := time.Now().Add(time.Hour)
			if i < dead {
				until = time.Now().Add(-time.Minute)
			}
			item[fmt.Sprintf("process_%08d", i)] = &types.AttributeValueMemberN{Value: fmt.Sprint(until.UnixMilli())}
		}
		b.put(projectionsTable, item)
		for round := range 2 {
			stop := start(t, group(t, b.Journal(), inSeconds(), projection.AtLeastOnce("all", &recorder{})))
			time.Sleep(10 * time.Minute)
			if n := b.processes(); n != living {
				t.Errorf("round %d: %d processes", round, n)
			}
			stop()
		}
		if n := b.rememberedProcesses(); n != living {
			t.Errorf("%d processes are remembered", n)
		}
	})
}
