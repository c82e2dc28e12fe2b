package projection_test

import (
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

func TestFromNow_HandlesLaterEvents(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "old", "old")
	deleted := b.write("deleted", "old", "old")
	if _, err := deleted.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	b.write("other|1", "old")
	for range 3 { // the numbers at the end are sealed
		gate := b.gate("")
		w, err := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }).Recover(t.Context(), "sealed", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		events := make([]any, 60)
		for i := range events {
			events[i] = "never"
		}
		gate.killAfter("BatchExecuteStatement", 1)
		if _, err := w.Append(t.Context(), events...); err == nil {
			t.Fatal("the write succeeds")
		}
		b.write("sealed")
	}
	all, now, only := &recorder{}, &recorder{}, &recorder{}
	once := &effects{bundle: b}
	once.table()
	g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all), projection.AtLeastOnce("now", now, projection.FromNow()),
		projection.AtLeastOnce("only", only, projection.FromNow(), projection.OnlyIDs("other|")),
		projection.Transactional("once", once, projection.FromNow()))
	for range 2 {
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.row("group/only", "a"))+len(b.row("group/now", "sealed")) > 0 {
		t.Error("an id that is left out, or has no event, has a row")
	}
	last := map[string]int64{}
	for _, pid := range []string{"a", "deleted", "other|1", "sealed", "new"} {
		var err error
		if last[pid], err = b.write(pid, "new").Last(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start(t, g)
	for pid, seq := range last {
		b.await("group/all", pid, seq)
		b.await("group/now", pid, seq)
		b.await("group/once", pid, seq)
		want(t, "now "+pid, now.of(pid), fmt.Sprint(seq, " new"))
		want(t, "once "+pid, once.of(pid), fmt.Sprint(seq, " new"))
	}
	b.await("group/only", "other|1", 2)
	want(t, "only", only.of("other|1"), "2 new")
	want(t, "all", all.of("a"), "1 old", "2 old", "3 new")
}

// A start with FromNow is interrupted. Another process continues it, and no handler is called
// before it is done.
func TestFromNow_InterruptedStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := many(b)
	gate := b.gate("")
	now := &recorder{}
	p := projection.AtLeastOnce("all", now, projection.FromNow())
	killed := group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), fast(), p)
	gate.killAfter("TransactWriteItems", 1)
	if err := killed.Start(t.Context()); err == nil {
		t.Fatal("it starts")
	}
	if len(b.row("group/all", first)) == 0 || len(b.row("group/all", last)) > 0 {
		t.Fatal("it was not interrupted in the middle")
	}
	b.write(first, "y")
	b.write(last, "y")
	var read costs
	g := group(t, b.Journal(read.install), fast(), p)
	read.take()
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spent := read.take(); spent.WriteUnits >= 300*2 {
		t.Errorf("the start was repeated from the beginning: %v", spent)
	}
	b.write(last, "z")
	start(t, g)
	b.await("group/all", first, 2)
	b.await("group/all", last, 3)
	want(t, "first", now.of(first), "2 y") // after the offset of its row
	want(t, "last", now.of(last), "3 z")
}

// A process lists the persistence ids only after another one has finished the start with FromNow,
// and handlers are called. It puts no row that would hide an event.
func TestNoRowIsPutAfterTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "old")
	p := projection.AtLeastOnce("all", &recorder{}, projection.FromNow())
	gate := b.gate("IndexName")
	late := group(t, b.Journal(gate.install), fast(), p)
	over := make(chan error, 1)
	go func() { over <- late.Start(t.Context()) }()
	comes(t, "the request", gate.arrived)
	g := group(t, b.journal, fast(), p)
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.write("b", "new")
	gate.release()
	if err := comes(t, "the end of Start", over); err != nil {
		t.Fatal(err)
	}
	if row := b.row("group/all", "b"); len(row) > 0 {
		t.Errorf("the new id has the row %v", row)
	}
	all := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all, projection.FromNow())))
	b.await("group/all", "b", 1)
	want(t, "b", all.of("b"), "1 new")
	want(t, "a", all.of("a"))
}

// A projection that has run keeps its offsets, whatever its option is now.
func TestFromNow_ProjectionHasRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	stop()
	b.write("b", "x")
	all := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all, projection.FromNow())))
	b.await("group/all", "b", 1)
	want(t, "b", all.of("b"), "1 x")
}

// docs/projections.md states these costs.
func TestFromNow_Costs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ids = 50
	for i := range ids {
		b.write(fmt.Sprint("id", i), "x", "y", "z")
	}
	var spent costs
	g := group(t, b.Journal(spent.install), fast(), projection.AtLeastOnce("all", &recorder{}, projection.FromNow()))
	spent.take()
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := dynajournal.Cost{Requests: 4*ids + 13, ReadUnits: 6*ids + 5, WriteUnits: 2*ids + 3}
	if got := spent.take(); got != want {
		t.Errorf("%d ids: %+v, want %+v", ids, got, want)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := spent.take(); got != (dynajournal.Cost{Requests: 3, ReadUnits: 1}) {
		t.Errorf("again: %+v", got)
	}
}

// Start retries temporary failures only as long as its caller does; Run retries by itself.
func TestStartReportsAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.Journal(func(c *dynajournal.Config) { c.Retries = -1 })
	if _, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectUnavailable, Operation: "BatchGetItem", Times: 1}); err != nil {
		t.Fatal(err)
	}
	g := group(t, j, fast(), projection.AtLeastOnce("all", &recorder{}, projection.FromNow()))
	wantError(t, "Start", g.Start(t.Context()), dynajournal.ErrUnavailable)
	if err := g.Start(t.Context()); err != nil {
		t.Error(err)
	}
}
