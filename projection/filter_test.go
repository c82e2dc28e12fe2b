package projection_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/serialization"
)

// tagged is an event with a tag.
func tagged(event any, tag string) dynajournal.NewEvent {
	return dynajournal.NewEvent{Value: event, Tags: []string{"any", tag}}
}

// typed is an adapter that stores the type of an event as its manifest.
type typed struct{}

func (typed) ToJournal(event any) (any, string, error) { return event, fmt.Sprintf("%T", event), nil }

func (typed) FromJournal(stored any, _ string) ([]any, error) { return []any{stored}, nil }

func TestFilter_LeavesOutEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.journal = b.Journal(func(c *dynajournal.Config) { c.Adapter = typed{} })
	b.write("order|1", tagged("a", "red"), tagged(int64(2), "blue"), tagged("c", "blue"), tagged(int64(4), "red"))
	b.write("item|1", tagged("z", "red"))
	all := map[string][]projection.Option{
		"ids":     {projection.OnlyIDs("order|", "none")},
		"tags":    {projection.OnlyTags("red", "none")},
		"types":   {projection.OnlyTypes("int64"), projection.OnlyTypes("none")},
		"several": {projection.OnlyTags("red"), projection.OnlyTypes("int64"), projection.OnlyIDs("order")},
	}
	handled := map[string]*recorder{}
	var projections []projection.Projection
	once := &effects{bundle: b}
	once.table()
	for name, opts := range all {
		handled[name] = &recorder{}
		projections = append(projections, projection.AtLeastOnce(name, handled[name], opts...))
	}
	projections = append(projections, projection.Transactional("once", once, projection.OnlyTags("blue")))
	start(t, group(t, b.journal, fast(), projections...))
	b.await("group/once", "order|1", 4)
	for name := range all {
		b.await("group/"+name, "order|1", 4)
	}
	b.await("group/tags", "item|1", 1)
	want(t, "ids", handled["ids"].of("order|1"), "1 a", "2 2", "3 c", "4 4")
	want(t, "ids", handled["ids"].of("item|1"))
	want(t, "tags", handled["tags"].of("order|1"), "1 a", "4 4")
	want(t, "tags", handled["tags"].of("item|1"), "1 z")
	want(t, "types", handled["types"].of("order|1"), "2 2", "4 4")
	want(t, "several", handled["several"].of("order|1"), "4 4")
	want(t, "once", once.of("order|1"), "2 2", "3 c")
	if len(b.row("group/ids", "item|1")) > 0 {
		t.Error("an id that is left out has a row")
	}
}

// The first event is left out, and each event has another writer. A handler fails before an offset
// is stored, and then the filter takes fewer events. HandlePurge reports nothing, because there was
// no purge.
func TestFilter_NoPurgeWhenFirstEventLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", tagged("x", "blue"))
	b.write("a", tagged("y", "red"))
	b.write("a", tagged("z", "green"))
	var calls atomic.Int64
	first, second := &recorder{}, &recorder{}
	first.on = func(context.Context, dynajournal.Event) error {
		calls.Add(1)
		return errWanted
	}
	config := fast()
	config.Attempts = 1000
	stop := start(t, group(t, b.journal, config, projection.AtLeastOnce("all", first, projection.OnlyTags("red", "green"))))
	until(t, "the handler is called again", func() bool { return calls.Load() > 1 })
	stop()
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", second, projection.OnlyTags("green"))))
	b.await("group/all", "a", 3)
	want(t, "before", first.of("a"))
	want(t, "afterwards", second.of("a"), "3 z")
}

// The manifest of the serializer also counts as a type, and events that are left out are not
// decoded.
func TestFilter_TypesAreStoredManifests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const unknown = 4711
	stored := func(manifest string) any {
		return serialization.Payload{SerializerID: unknown, Manifest: manifest, Bytes: []byte{1}}
	}
	b.write("a", stored("kept"), stored("left"), stored("kept"))
	var handled recorder
	start(t, group(t, b.Journal(func(c *dynajournal.Config) { c.Adapter = adapter{} }), fast(), projection.AtLeastOnce("all",
		projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error {
			handled.note(e.PersistenceID, fmt.Sprint(e.SequenceNumber))
			return nil
		}), projection.OnlyTypes("kept"))))
	b.await("group/all", "a", 3)
	want(t, "all", handled.of("a"), "1", "3")
}

// Events that a filter leaves out cost one write a page. They cost nothing together with a handled
// event, or if the persistence id is left out.
func TestFilter_LeftOutEventsMoveOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		once := &effects{bundle: b}
		once.table()
		for name, c := range map[string]struct {
			of func(...projection.Option) projection.Projection
			// left and some are the write units of 30 events, of which 0 and 2 are handled.
			left, some float64
		}{
			"least": {func(o ...projection.Option) projection.Projection {
				return projection.AtLeastOnce("least", &recorder{}, o...)
			}, 1, 2},
			"once": {func(o ...projection.Option) projection.Projection {
				return projection.Transactional("once", once, o...)
			}, 1, 8},
		} {
			var spent costs
			g := group(t, b.Journal(spent.install), fast(), c.of(projection.OnlyIDs(name), projection.OnlyTags("kept")))
			b.write(name, tagged("x", "left"))
			stop := start(t, g)
			b.await("group/"+name, name, 1)
			idle := func() bool { return g.Lag()[0].IDs == 0 }
			synctest.Wait() // for the end of the sweep
			run := func(selected ...int) float64 {
				events := make([]any, 30)
				for i := range events {
					events[i] = tagged("x", "left")
				}
				for _, i := range selected {
					events[i] = tagged("x", "kept")
				}
				w := b.write(name)
				if _, err := w.AppendEach(t.Context(), events...); err != nil {
					t.Fatal(err)
				}
				last, err := w.Last(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				spent.take()
				g.Trigger(name)
				until(t, "the trigger is done", idle)
				b.await("group/"+name, name, last)
				return spent.take().WriteUnits
			}
			if got := run(); got != c.left {
				t.Errorf("%s: all left out: %v write units, want %v", name, got, c.left)
			}
			if got := run(10, 20); got != c.some {
				t.Errorf("%s: two kept: %v write units, want %v", name, got, c.some)
			}
			spent.take()
			g.Trigger("other")
			stop()
			end := dynajournal.Cost{Requests: 1, WriteUnits: 1}
			if got := spent.take(); got != end {
				t.Errorf("%s: an id that is left out costs %v", name, got)
			}
		}
	})
}

// Gaps and purges are reported whatever their events were, and events after them are left out.
func TestFilter_GapsAndPurgesReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "x", "y", "z", "u")
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all, projection.OnlyTags("none")))
	start(t, g)
	b.await("group/all", "a", 4)
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	b.write("a", "v")
	until(t, "the purge", func() bool {
		g.Trigger("a")
		return len(all.of("a")) == 2 && b.rowNumber("group/all", "a", "seq") == 1
	})
	want(t, "all", all.of("a"), "gap 1-2", "purge at 4")
}

// A failure has the number of the event, not of the events left out after it.
func TestFilter_FailureNamesHandledEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", tagged("x", "kept"), tagged("y", "left"), tagged("z", "left"))
	config := fast()
	config.Attempts = 1
	failing := &recorder{on: func(context.Context, dynajournal.Event) error { return errWanted }}
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", failing, projection.OnlyTags("kept"))))
	if s := stuckness(b, "group/all", "a"); s.Offset != 0 || !strings.Contains(s.Reason, `of "a" at 1:`) {
		t.Errorf("%+v", s)
	}
}

// A group with a stream sweeps for ids that its prefixes did not have before.
func TestFilter_PrefixesChange(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a|1", "x")
	b.write("b|1", "y")
	stop := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}, projection.OnlyIDs("a|"))))
	b.await("group/all", "a|1", 1)
	b.awaitQuiet()
	until(t, "the checkpoint", func() bool { return len(b.checkpoints()) > 0 })
	stop()
	all := &recorder{}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all, projection.OnlyIDs("a|", "b|"))))
	b.await("group/all", "b|1", 1)
	want(t, "a|1", all.of("a|1"))
}
