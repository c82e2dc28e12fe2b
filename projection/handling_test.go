package projection_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

func TestSweepFindsAllEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	b.write("b", "z")
	all := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 2)
	b.await("group/all", "b", 1)
	want(t, "a", all.of("a"), "1 x", "2 y")
	want(t, "b", all.of("b"), "1 z")
}

func TestTrigger_HandlesNewEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	g.Trigger("nothing runs")
	start(t, g)
	w := b.write("a", "x")
	until(t, "the trigger", func() bool { g.Trigger("a"); return len(all.of("a")) == 1 })
	if _, err := w.Append(t.Context(), "y", "z"); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", 3)
	want(t, "a", all.of("a"), "1 x", "2 y", "3 z")
}

// More events than a batch, over partitions, are read page by page.
func TestLongJournalsAreHandledInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a")
	var texts []string
	for i := 1; i <= 250; i += 5 {
		var events []any
		for n := i; n < i+5; n++ {
			events = append(events, fmt.Sprint("e", n))
			texts = append(texts, fmt.Sprintf("%d e%d", n, n))
		}
		if _, err := w.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	all := &recorder{}
	config := fast()
	config.BatchSize = 7 // no multiple of the writes
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 250)
	want(t, "a", all.of("a"), texts...)
}

func TestRun_RestartContinuesAtOffset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	first, second := &recorder{}, &recorder{}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", first)))
	b.await("group/all", "a", 2)
	stop()
	b.write("a", "z")
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", second)))
	b.await("group/all", "a", 3)
	want(t, "the second", second.of("a"), "3 z")
}

// Deleted events are reported as a gap, except events that were already handled.
func TestGap_DeletedEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "x", "y", "z")
	all := &recorder{}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 3)
	stop()
	if _, err := w.Append(t.Context(), "u", "v", "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	late, effects := &recorder{}, &effects{bundle: b}
	effects.table()
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all), projection.AtLeastOnce("late", late),
		projection.Transactional("effects", effects)))
	for _, name := range []string{"all", "late", "effects"} {
		b.await("group/"+name, "a", 6)
	}
	want(t, "all", all.of("a"), "1 x", "2 y", "3 z", "gap 4-5", "6 w")
	want(t, "late", late.of("a"), "gap 1-5", "6 w")
	want(t, "effects", effects.of("a"), "gap 1-5", "6 w")
}

// All events are deleted. The gap is reported last.
func TestGap_AllEventsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.write("a", "x", "y")
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.await("group/all", "a", 2)
	if _, err := w.Append(t.Context(), "z"); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", 3)
	want(t, "all", all.of("a"), "gap 1-2", "3 z")
}

// Everything was erased, so the numbers are used again.
func TestPurge_ErasedIDStartsAgain(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]any{"shorter": {"u"}, "as long": {"u", "v"}, "longer": {"u", "v", "w"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := b.write("a", "x", "y")
			all, effects := &recorder{}, &effects{bundle: b}
			effects.table()
			g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all), projection.Transactional("effects", effects))
			stop := start(t, g)
			b.await("group/all", "a", 2)
			b.await("group/effects", "a", 2)
			stop()
			if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
				t.Fatal(err)
			}
			b.write("a", more...)
			start(t, g)
			handled := []string{"1 x", "2 y", "purge at 2"}
			for i, e := range more {
				handled = append(handled, fmt.Sprintf("%d %v", i+1, e))
			}
			until(t, "the new events", func() bool {
				g.Trigger("a")
				return len(all.of("a")) >= len(handled) && len(effects.of("a")) >= len(handled)
			})
			want(t, "all", all.of("a"), handled...)
			want(t, "effects", effects.of("a"), handled...)
		})
	}
}

// effects is a transactional handler that puts an item for each event. The item must not exist.
type effects struct {
	recorder

	bundle *bundle
	// fail is the number of calls that fail.
	fail atomic.Int64
}

const effectsTable = "effects"

func newEffects(b *bundle, on func(dynajournal.Event) error) *effects {
	e := &effects{bundle: b}
	e.on = func(_ context.Context, event dynajournal.Event) error { return on(event) }
	e.table()
	return e
}

func (e *effects) table() {
	_, err := e.bundle.table.CreateTable(e.bundle.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(effectsTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
	})
	if err != nil {
		e.bundle.Fatal(err)
	}
}

var errWanted = errors.New("wanted")

func (e *effects) Handle(ctx context.Context, event dynajournal.Event) ([]types.TransactWriteItem, error) {
	if e.fail.Add(-1) >= 0 {
		return nil, errWanted
	}
	if err := e.recorder.Handle(ctx, event); err != nil {
		return nil, err
	}
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:                 aws.String(effectsTable),
		Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: event.PersistenceID}},
		UpdateExpression:          aws.String("ADD events :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}}}, nil
}

func (e *effects) HandleGap(ctx context.Context, gap projection.Gap) ([]types.TransactWriteItem, error) {
	return nil, e.recorder.HandleGap(ctx, gap)
}

func (e *effects) HandlePurge(ctx context.Context, purge projection.Purge) ([]types.TransactWriteItem, error) {
	return nil, e.recorder.HandlePurge(ctx, purge)
}

// count returns the number of effects of a persistence id.
func (e *effects) count(pid string) string {
	out, err := e.bundle.table.GetItem(e.bundle.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(effectsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pid}},
	})
	if err != nil {
		e.bundle.Fatal(err)
	}
	if n, ok := out.Item["events"].(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return "0"
}

// Two groups of the same name handle the same events at the same time, and responses are lost.
func TestEffectsHappenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y", "z")
	e := &effects{bundle: b}
	e.table()
	e.fail.Store(2)
	for _, fault := range []embedded.Fault{
		{Effect: embedded.EffectReset, Operation: "TransactWriteItems", Every: 2, Applied: true, Times: 4},
		{Effect: embedded.EffectTransactionConflict, Operation: "TransactWriteItems", Every: 3, Times: 4},
		{Effect: embedded.EffectThrottling, Operation: "GetItem", Table: projectionsTable, Every: 4, Times: 4},
	} {
		if _, err := b.Engine.Inject(fault); err != nil {
			t.Fatal(err)
		}
	}
	single := func(c *dynajournal.Config) { c.Retries = -1 }
	for range 2 {
		start(t, group(t, b.Journal(single), fast(), projection.Transactional("effects", e)))
	}
	b.await("group/effects", "a", 3)
	if n := e.count("a"); n != "3" {
		t.Errorf("3 events had %s effects", n)
	}
}

// A process whose transaction is late finds that another one has written the effects.
func TestLateTransactionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	e := &effects{bundle: b}
	e.table()
	gate := b.gate("ADD events")
	late := group(t, b.Journal(gate.install), fast(), projection.Transactional("effects", e))
	start(t, late)
	comes(t, "the request", gate.arrived)
	start(t, group(t, b.journal, fast(), projection.Transactional("effects", e)))
	b.await("group/effects", "a", 2)
	gate.release()
	until(t, "the late process is done", func() bool { return late.Lag()[0].IDs == 0 })
	if n := e.count("a"); n != "2" {
		t.Errorf("2 events had %s effects", n)
	}
}
