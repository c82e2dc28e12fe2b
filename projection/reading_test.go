package projection_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// A deletion happens after the marks were read and before the events are. They are reported as a
// gap.
func TestDeletionBetweenMarksAndEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "x", "y", "z")
	all := &recorder{}
	b.whileItReads(all, func() {
		if _, err := w.DeleteTo(t.Context(), 2); err != nil {
			t.Error(err)
		}
	})
	b.await("group/all", "a", 3)
	want(t, "all", all.of("a"), "gap 1-2", "3 z")
}

// A deletion of the event at the offset in the same moment is not taken for a purge, although its
// tombstone has expired. This happens to a process that is suspended between the two reads.
func TestDeletionUpToTheOffsetIsNoPurge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "x", "y", "z")
	all := &recorder{}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 3)
	stop()
	g := b.whileItReads(all, func() {
		if _, err := w.DeleteTo(t.Context(), 3); err != nil {
			t.Error(err)
		}
		for seq := range 3 {
			b.removeItem("a", int64(seq+1))
		}
	})
	if _, err := w.Append(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", 4)
	want(t, "all", all.of("a"), "1 x", "2 y", "3 z", "4 w")
}

// removeItem removes the item of a sequence number in the first partition of an id.
func (b *bundle) removeItem(pid string, seq int64) {
	b.Helper()
	_, err := b.table.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-" + pid + "-0"},
			"num": &types.AttributeValueMemberN{Value: strconv.FormatInt(seq, 10)},
		},
	})
	if err != nil {
		b.Error(err)
	}
}

// whileItReads starts a group, and calls a function after the group has read the marks of a
// persistence id and before it reads the events.
func (b *bundle) whileItReads(h projection.Handler, do func()) *projection.Group {
	b.Helper()
	gate := b.gate("BETWEEN")
	marked := make(chan struct{})
	var once sync.Once
	hook := dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
		if r.Operation == "BatchGetItem" && r.Table == dynajournal.DefaultJournalTable {
			once.Do(func() { close(marked) })
		}
	}}
	hooked := b.Journal(gate.install, func(c *dynajournal.Config) { c.Hooks = []dynajournal.Hook{hook} })
	g := group(b, hooked, fast(), projection.AtLeastOnce("all", h))
	start(b, g)
	comes(b, "the request", gate.arrived)
	comes(b, "the reading of the marks", marked)
	do()
	gate.release()
	return g
}

// Parts of an atomic write that was never completed, and seals of a recovery, are not events.
func TestIncompleteWritesAreNotHandled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gate := b.gate("")
	killed := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
	w, err := killed.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	events := make([]any, 60) // three requests, of which the first is done
	for i := range events {
		events[i] = "never"
	}
	gate.killAfter("BatchExecuteStatement", 1)
	if _, err := w.Append(t.Context(), events...); err == nil {
		t.Fatal("the write succeeds")
	}
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.await("group/all", "a", 1)
	last, err := b.write("a", "y").Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", last)
	want(t, "all", all.of("a"), "1 x", fmt.Sprintf("%d y", last))
}

// adapter makes 0, 1 or 2 events of a stored one.
type adapter struct{}

func (adapter) ToJournal(event any) (any, string, error) { return event, "", nil }

func (adapter) FromJournal(stored any, _ string) ([]any, error) {
	switch stored {
	case "none":
		return nil, nil
	case "two":
		return []any{"first", "second"}, nil
	case "bad":
		return nil, errWanted
	}
	return []any{stored}, nil
}

func TestAdaptedEventsMoveTheOffsetTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "two", "none", "one", "none")
	b.write("b", "one", "bad")
	all, e := &recorder{}, &effects{bundle: b}
	e.table()
	config := fast()
	config.Attempts = 2
	adapted := b.Journal(func(c *dynajournal.Config) { c.Adapter = adapter{} })
	start(t, group(t, adapted, config, projection.AtLeastOnce("all", all), projection.Transactional("effects", e)))
	b.await("group/all", "a", 4)
	want(t, "all", all.of("a"), "1 first", "1 second", "3 one")
	b.await("group/all", "b", 1)
	if s := stuckness(b, "group/all", "b"); s.Offset != 1 {
		t.Errorf("%+v", s)
	}
	stuckness(b, "group/effects", "b")
	b.await("group/effects", "b", 1)
}

// costs adds up the units of the requests of a group.
type costs struct {
	mu  sync.Mutex
	sum dynajournal.Cost
}

func (c *costs) install(config *dynajournal.Config) {
	config.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sum = c.sum.Add(r.Cost)
	}}}
}

func (c *costs) take() dynajournal.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.sum
	c.sum = dynajournal.Cost{}
	return sum
}

// ofTrigger triggers a persistence id, waits until the trigger is done, and checks the cost.
func (c *costs) ofTrigger(t *testing.T, g *projection.Group, what string, want dynajournal.Cost) {
	t.Helper()
	g.Trigger("a")
	until(t, what, func() bool { return g.Lag()[0].IDs == 0 })
	if got := c.take(); got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// docs/projections-operate.md states these costs.
func TestCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of func(*effects) projection.Projection
		// one and many are the costs of 1 and of 99 new events. idle is the cost of a trigger
		// without new events.
		one, many, idle dynajournal.Cost
	}{
		"at least once": {
			func(*effects) projection.Projection { return projection.AtLeastOnce("all", &recorder{}) },
			dynajournal.Cost{Requests: 5, ReadUnits: 4, WriteUnits: 2},
			dynajournal.Cost{Requests: 6, ReadUnits: 8, WriteUnits: 2},
			dynajournal.Cost{Requests: 3, ReadUnits: 4},
		},
		"transactional": { // with one item of the handler for each event
			func(e *effects) projection.Projection { return projection.Transactional("all", e) },
			dynajournal.Cost{Requests: 4, ReadUnits: 4, WriteUnits: 4},
			dynajournal.Cost{Requests: 103, ReadUnits: 8, WriteUnits: 396},
			dynajournal.Cost{Requests: 3, ReadUnits: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				e := &effects{bundle: b}
				e.table()
				var spent costs
				g := group(t, b.Journal(spent.install), fast(), c.of(e))
				w := b.write("a", "x")
				start(t, g)
				b.await("group/all", "a", 1)
				spent.take()
				synctest.Wait() // for the end of the sweep
				spent.take()
				if _, err := w.Append(t.Context(), "y"); err != nil {
					t.Fatal(err)
				}
				spent.ofTrigger(t, g, "one event", c.one)
				spent.ofTrigger(t, g, "none", c.idle)
				events := make([]any, 99)
				for i := range events {
					events[i] = "z"
				}
				if _, err := w.Append(t.Context(), events...); err != nil {
					t.Fatal(err)
				}
				spent.ofTrigger(t, g, "99 events", c.many)
			})
		})
	}
}
