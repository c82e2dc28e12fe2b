package projection_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// sweepPending reports whether a requested sweep is left to a projection.
func (b *bundle) sweepPending(name string) bool {
	b.Helper()
	all, err := operator.List(b.Context(), b.journal)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range all {
		if p.Projection == name {
			if p.Source != "lambda" {
				b.Errorf("%s is run by %s", name, p.Source)
			}
			return p.SweepPending
		}
	}
	b.Fatalf("%s is not registered", name)
	return false
}

func maintain(t testing.TB, g *projection.Group) {
	t.Helper()
	if err := awslambda.Maintain(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

// paid calls Maintain once a minute until no persistence id has a debt.
func (b *bundle) paid(g *projection.Group, name, pid string) {
	b.Helper()
	for range 60 {
		if maintain(b, g); b.row(name, pid)["debt"] == nil {
			return
		}
		time.Sleep(time.Minute)
	}
	b.Errorf("after an hour the row of %s is %v", pid, b.row(name, pid))
}

// Maintain finds events that the stream no longer has. It does nothing when it is called again.
func TestLambda_FirstStartRequestsSweep(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("old", "x")
	from := len(b.streamRecords())
	b.write("new", "y")
	all := &recorder{}
	var spent costs
	g := group(t, b.Journal(spent.install), onLambda(), projection.AtLeastOnce("all", all))
	b.invoke(g, b.events(from), time.Minute)
	want(t, "new", all.of("new"), "1 y")
	want(t, "old", all.of("old"))
	if !b.sweepPending("group/all") {
		t.Error("no requested sweep is left")
	}
	maintain(t, g)
	want(t, "old", all.of("old"), "1 x")
	if b.sweepPending("group/all") {
		t.Error("a requested sweep is left")
	}
	spent.take()
	maintain(t, g)
	if cost := spent.take(); cost != (dynajournal.Cost{Requests: 2, ReadUnits: 2.5}) {
		t.Errorf("nothing to do costs %+v", cost)
	}
}

// A sweep whose time is over continues at its position. A sweep that is requested meanwhile is also
// done.
func TestMaintain_ContinuesInterruptedSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		const ids = 250
		for i := range ids {
			b.write(idOf(i), "x")
		}
		all := &recorder{}
		config := onLambda()
		config.Source = awslambda.Source(awslambda.Options{PerSecond: 25})
		calls := 0
		for ; ; calls++ {
			g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all))
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			err := awslambda.Maintain(ctx, g)
			cancel()
			if err == nil {
				break
			}
			wantError(t, "Maintain", err, context.DeadlineExceeded)
			if calls > 4 {
				t.Fatal("it never ends")
			}
			if calls == 0 {
				b.invoke(group(t, b.Journal(), config, projection.AtLeastOnce("other", &recorder{})),
					lambdaEvent(t, b.streamARN(), b.streamRecords()[0]), time.Minute)
			}
		}
		for i := range ids {
			want(t, idOf(i), all.of(idOf(i)), "1 x")
		}
		if b.sweepPending("group/all") || calls < 2 {
			t.Errorf("after %d calls a sweep is requested: %t", calls, b.sweepPending("group/all"))
		}
	})
}

func idOf(i int) string { return string(rune('a'+i%26)) + time.Duration(i).String() }

// An older version of the function, without a projection that was added, handles events after the
// projection has swept all persistence ids.
func TestLambda_InvocationRequestsSweepOfOthers(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	all, added := &recorder{}, &recorder{}
	older := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
	b.invoke(older, b.events(0), time.Minute)
	newer := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all), projection.AtLeastOnce("added", added))
	maintain(t, newer)
	want(t, "added", added.of("a"), "1 x")
	from := len(b.streamRecords())
	b.write("a", "y")
	b.invoke(older, b.events(from), time.Minute)
	want(t, "all", all.of("a"), "1 x", "2 y")
	want(t, "added", added.of("a"), "1 x")
	if !b.sweepPending("group/added") {
		t.Error("no requested sweep is left")
	}
	maintain(t, newer)
	want(t, "added", added.of("a"), "1 x", "2 y")
}

// The mapping was away for so long that records may be trimmed.
func TestLambda_OldRecordsRequestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t, embedded.WithClock(time.Now))
		b.write("a", "x")
		all := &recorder{}
		g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all))
		maintain(t, g)
		from := len(b.streamRecords())
		b.write("lost", "y")
		b.write("b", "z")
		records := b.streamRecords()[from:]
		time.Sleep(13 * time.Hour)
		b.invoke(g, lambdaEvent(t, b.streamARN(), records[len(records)-1]), time.Minute)
		if !b.sweepPending("group/all") {
			t.Error("no requested sweep is left")
		}
		maintain(t, g)
		want(t, "lost", all.of("lost"), "1 y")
	})
}

// A paused projection does not handle records. When it continues, it finds the events that came
// meanwhile.
func TestPausedProjectionOnLambda(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	all, other := &recorder{}, &recorder{}
	g := group(t, b.Journal(), onLambda(), projection.AtLeastOnce("all", all), projection.AtLeastOnce("other", other))
	maintain(t, g)
	if err := operator.New(b.journal, "group/all").Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := len(b.streamRecords())
	b.write("a", "y")
	if failed := b.invoke(g, b.events(from), time.Minute); failed != "" {
		t.Errorf("failed at %q", failed)
	}
	want(t, "paused", all.of("a"), "1 x")
	want(t, "other", other.of("a"), "1 x", "2 y")
	if err := operator.New(b.journal, "group/all").Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	maintain(t, g)
	want(t, "continued", all.of("a"), "1 x", "2 y")
}

// Maintain carries out a request of an operator, and a sweep completes a reset.
func TestOperatorsOnLambda(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	cured := false
	all := &recorder{on: func(context.Context, dynajournal.Event) error {
		if cured {
			return nil
		}
		return errWanted
	}}
	config := onLambda()
	config.Attempts = 1
	g := group(t, b.Journal(), config, projection.AtLeastOnce("all", all))
	if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
		t.Errorf("failed at %q", failed)
	}
	stuckness(b, "group/all", "a")
	cured = true
	if err := operator.New(b.journal, "group/all").Retry(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	maintain(t, g)
	want(t, "retried", all.of("a"), "1 x")
	_, err := operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{})
	wantError(t, "Reset of a projection that runs", err, projection.ErrInUse)
	if _, err := operator.New(b.journal, "group/all").Reset(t.Context(), operator.ResetOptions{Running: true}); err != nil {
		t.Fatal(err)
	}
	maintain(t, g)
	want(t, "reset", all.of("a"), "1 x", "1 x")
}
