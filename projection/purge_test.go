package projection_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// purge purges a persistence id, with a writer of its own.
func (b *bundle) purge(pid string) {
	b.Helper()
	if _, err := b.Recover(b.journal, pid).Purge(b.Context(), dynajournal.PurgeOptions{}); err != nil {
		b.Fatal(err)
	}
}

// values returns the values of the events of a persistence id in the journal: the state of its
// entity.
func (b *bundle) values(pid string) []string {
	b.Helper()
	var all []string
	for e, err := range b.journal.Events(b.Context(), pid, dynajournal.Range{}) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.SequenceNumber, " ", mustPayload(b, e)))
	}
	return all
}

func mustPayload(b *bundle, e dynajournal.Event) any {
	b.Helper()
	value, err := e.Payload(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// readModel is a handler that stores the events of a persistence id, and the number of the last
// one. So a repeated or late call changes nothing.
type readModel struct {
	mu     sync.Mutex
	last   map[string]int64
	events map[string][]string
}

func newReadModel() *readModel {
	return &readModel{last: map[string]int64{}, events: map[string][]string{}}
}

func (m *readModel) Handle(ctx context.Context, e dynajournal.Event) error {
	value, err := e.Payload(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || e.SequenceNumber <= m.last[e.PersistenceID] {
		return err
	}
	m.last[e.PersistenceID] = e.SequenceNumber
	m.events[e.PersistenceID] = append(m.events[e.PersistenceID], fmt.Sprint(e.SequenceNumber, " ", value))
	return nil
}

func (m *readModel) HandlePurge(_ context.Context, p projection.Purge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last[p.PersistenceID] <= max(p.Last, p.Offset) {
		m.last[p.PersistenceID], m.events[p.PersistenceID] = p.Last, nil
	}
	return nil
}

func (m *readModel) of(pid string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events[pid])
}

// transactionalModel is a readModel without effects of its own, for use in transactions.
type transactionalModel struct{ *readModel }

func (m transactionalModel) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	return nil, m.readModel.Handle(ctx, e)
}

func (m transactionalModel) HandlePurge(ctx context.Context, p projection.Purge) ([]types.TransactWriteItem, error) {
	return nil, m.readModel.HandlePurge(ctx, p)
}

// A read model equals the entity, whether the persistence id is used again or not.
func TestPurge_EndsReadModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		purges [][]any // the events written after each purge
		offset int64
	}{
		"not used again":         {[][]any{nil}, 3},
		"used again":             {[][]any{{"z", "u"}}, 5},
		"purged twice":           {[][]any{{"z"}, nil}, 5},
		"twice, and used again":  {[][]any{{"z"}, {"v", "w"}}, 7},
		"twice without an event": {[][]any{nil, {"z"}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write("a", "x", "y")
			once, effects := newReadModel(), newReadModel()
			g := group(t, b.journal, fast(), projection.AtLeastOnce("once", once),
				projection.Transactional("effects", transactionalModel{effects}))
			start(t, g)
			b.await("group/once", "a", 2)
			b.await("group/effects", "a", 2)
			for _, events := range c.purges {
				b.purge("a")
				b.write("a", events...)
				g.Trigger("a")
			}
			b.await("group/once", "a", c.offset)
			b.await("group/effects", "a", c.offset)
			want(t, "at least once", once.of("a"), b.values("a")...)
			want(t, "transactional", effects.of("a"), b.values("a")...)
		})
	}
}

// The record of the low mark triggers its persistence id, with any view type.
func TestPurge_ReportedByStream(t *testing.T) {
	t.Parallel()
	for _, view := range types.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			b := viewed(t, view)
			all := &recorder{}
			g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all))
			start(t, g)
			b.awaitQuiet()
			b.write("a-1", "x", "y")
			b.await("group/all", "a-1", 2)
			b.purge("a-1")
			b.await("group/all", "a-1", 3)
			want(t, "not used again", all.of("a-1"), "1 x", "2 y", "purge at 2 up to 3")
			b.write("a-1", "z")
			b.await("group/all", "a-1", 4)
			until(t, "the records are done", func() bool { return g.Lag()[0].IDs == 0 })
			want(t, "used again", all.of("a-1"), "1 x", "2 y", "purge at 2 up to 3", "4 z")
		})
	}
}

// Repeated records report a purge once.
func TestPurge_ReportedByLambda(t *testing.T) {
	t.Parallel()
	for _, view := range types.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			b := viewed(t, view)
			b.write("a", "x", "y")
			all, effects := &recorder{}, newEffects(b, func(dynajournal.Event) error { return nil })
			g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", all), projection.Transactional("effects", effects))
			invoke := func(from int) {
				if failed := b.invoke(g, b.events(from), time.Minute); failed != "" {
					t.Errorf("the invocation failed at %s", failed)
				}
			}
			invoke(0)
			from := len(b.streamRecords())
			b.purge("a")
			invoke(from)
			invoke(from)
			want(t, "not used again", all.of("a"), "1 x", "2 y", "purge at 2 up to 3")
			b.write("a", "z")
			invoke(from)
			invoke(0)
			want(t, "used again", all.of("a"), "1 x", "2 y", "purge at 2 up to 3", "4 z")
			want(t, "transactional", effects.of("a"), "1 x", "2 y", "purge at 2 up to 3", "4 z")
		})
	}
}

// The record of the fence also triggers a read, which may come before the low mark is raised. The
// record of the low mark reports the purge without it.
func TestPurge_ReportedByLowMark(t *testing.T) {
	t.Parallel()
	b := viewed(t, types.StreamViewTypeNewImage)
	b.write("a", "x")
	all := &recorder{}
	g := group(t, b.journal, onLambda(), projection.AtLeastOnce("all", all))
	if failed := b.invoke(g, b.events(0), time.Minute); failed != "" {
		t.Errorf("the invocation failed at %s", failed)
	}
	from := len(b.streamRecords())
	b.purge("a")
	marks := slices.DeleteFunc(b.streamRecords()[from:], func(r streamtypes.Record) bool {
		return !strings.Contains(r.Dynamodb.Keys["par"].(*streamtypes.AttributeValueMemberS).Value, "-SL-")
	})
	if failed := b.invoke(g, lambdaEvent(b, b.streamARN(), marks...), time.Minute); failed != "" {
		t.Errorf("the invocation failed at %s", failed)
	}
	want(t, "all", all.of("a"), "1 x", "purge at 1 up to 2")
}

// A sweep finds a purge when the persistence id is listed again.
func TestPurge_ReportedBySweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	all := &recorder{}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 2)
	stop()
	b.purge("a")
	b.write("b", "x")
	stop = start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "b", 1)
	stop()
	want(t, "not used again", all.of("a"), "1 x", "2 y")
	b.write("a", "z")
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 4)
	want(t, "used again", all.of("a"), "1 x", "2 y", "purge at 2 up to 3", "4 z")
}

// A process that dies in its first call leaves a row without an offset. Its handler has seen
// events.
func TestPurge_RowWithoutOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		first, second := &recorder{}, &recorder{}
		gate := b.gate("")
		first.on = func(context.Context, dynajournal.Event) error {
			gate.dead.Store(true)
			return nil
		}
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
		stop := start(t, group(t, j, fast(), projection.AtLeastOnce("all", first)))
		until(t, "the handler was called", func() bool { return len(first.of("a")) > 0 })
		stop()
		b.purge("a")
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		g := group(t, b.Journal(), config, projection.AtLeastOnce("all", second))
		start(t, g)
		until(t, "the purge is reported", func() bool {
			g.Trigger("a")
			return b.rowNumber("group/all", "a", "seq") == 3
		})
		want(t, "not used again", second.of("a"), "purge at 0 up to 3")
	})
}

// A projection that starts later gets none of the purged events, and no gap in their place.
func TestPurge_NewProjection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	b.purge("a")
	w := b.write("a", "z", "u")
	b.write("b", "x")
	b.purge("b")
	late := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("late", late))
	stop := start(t, g)
	b.await("group/late", "a", 5)
	g.Trigger("b")
	until(t, "the trigger is done", func() bool { return g.Lag()[0].IDs == 0 })
	stop()
	want(t, "a", late.of("a"), "4 z", "5 u")
	want(t, "b", late.of("b"))
	if row := b.row("group/late", "b"); row != nil {
		t.Errorf("the row of an unused persistence id is %v", row)
	}
	if _, err := w.DeleteTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	later := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("later", later)))
	b.await("group/later", "a", 5)
	want(t, "after a deletion", later.of("a"), "gap 4-4", "5 u")
}

// Events that are deleted after the purge are a gap of their own.
func TestPurge_ThenGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.await("group/all", "a", 2)
	b.purge("a")
	w := b.write("a", "z", "u", "v")
	if _, err := w.DeleteTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", 6)
	want(t, "all", all.of("a"), "1 x", "2 y", "purge at 2 up to 3", "gap 4-5", "6 v")
}

// An event that was purged while the target was down is not sent, and its stored messages are
// removed.
func TestPurge_MessagesOfOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	box := &postbox{}
	box.answer(func(outbox.Message) error { return errDown })
	g := group(t, b.journal, fast(), outbox.New("out", box, oneEach, outbox.MakeOnce()))
	start(t, g)
	until(t, "the message is stored", func() bool { return b.row("group/out", "a")["made"] != nil })
	b.purge("a")
	b.await("group/out", "a", 2)
	if row := b.row("group/out", "a"); row["made"] != nil {
		t.Errorf("the row has %v", row)
	}
	tried := len(box.all())
	box.answer(nil)
	b.write("a", "y")
	g.Trigger("a")
	b.await("group/out", "a", 3)
	if sent := box.all()[tried:]; len(sent) != 1 || string(sent[0].Body) != "y" {
		t.Errorf("after the purge: %v", sent)
	}
}

// An audit does not report purged numbers as missing events.
func TestPurge_Audit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{}))
	stop := start(t, g)
	b.await("group/all", "a", 2)
	stop()
	b.purge("a")
	b.write("a", "z")
	b.write("new", "x")
	b.purge("new")
	b.write("new", "y")
	now := operator.AuditOptions{MinAge: -1}
	want(t, "before", b.audit("", now), "group/all a other-life 2+1", "group/all new no-row 0+1")
	start(t, g)
	b.await("group/all", "a", 4)
	b.await("group/all", "new", 3)
	want(t, "after", b.audit("", now))
}

// DeleteTo waits for events of the current life, and not for purged events.
func TestPurge_DeletionAfterIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.await("group/all", "a", 2)
	b.purge("a")
	w := b.Recover(b.journal, "a")
	within, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// No trigger comes, so the purge is not reported yet.
	if _, err := projection.DeleteTo(within, b.journal, w, 2, "group/all"); err != nil {
		t.Errorf("a deletion of nothing: %v", err)
	}
	b.Append(w, "z", "u")
	g.Trigger("a")
	if _, err := projection.DeleteTo(t.Context(), b.journal, w, 4, "group/all"); err != nil {
		t.Fatal(err)
	}
	want(t, "all", all.of("a")[:4], "1 x", "2 y", "purge at 2 up to 3", "4 z")
}

// Follow does not return the record of a low mark as an event.
func TestPurge_NotFollowed(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x", "y")
	b.purge("a")
	w := b.write("a", "z", "u")
	f := b.follow()
	if _, err := w.DeleteTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	b.append(w, "v")
	until(t, "the event comes", func() bool { return len(f.of("a")) > 0 && f.of("a")[len(f.of("a"))-1] == "6 v" })
	want(t, "a", f.of("a"), "6 v")
	b.purge("a")
	b.write("a", "w")
	until(t, "the next life comes", func() bool { return len(f.of("a")) == 2 })
	want(t, "a", f.of("a"), "6 v", "8 w")
}
