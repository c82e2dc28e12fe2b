package projection_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

func (b *bundle) put(table string, item map[string]types.AttributeValue) {
	b.Helper()
	if _, err := b.table.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		b.Fatal(err)
	}
}

// stream changes the stream of the journal table.
func (b *bundle) stream(spec types.StreamSpecification) {
	b.Helper()
	if _, err := b.table.UpdateTable(b.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), StreamSpecification: &spec,
	}); err != nil {
		b.Fatal(err)
	}
}

// A damaged row makes its persistence id stuck, whatever is damaged. The others continue. After the
// row is repaired, everything is handled.
func TestRow_DamagedIsStuck(t *testing.T) {
	t.Parallel()
	wrong := &types.AttributeValueMemberBOOL{Value: true}
	for attribute, value := range map[string]types.AttributeValue{
		"seq": &types.AttributeValueMemberN{Value: "-1"}, "writer": wrong, "claim": wrong, "stuck": wrong,
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write("a", "x")
			b.write("b", "y")
			damaged := rowKey("group/all", "a")
			damaged[attribute] = value
			b.put(projectionsTable, damaged)
			all := &recorder{}
			config := fast()
			config.Attempts = 2
			g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
			start(t, g)
			b.await("group/all", "b", 1)
			until(t, "it is stuck", func() bool { return b.isStuck("group/all", "a") })
			g.Trigger("a")
			until(t, "the trigger is done", func() bool { return g.Lag()[0].IDs == 0 })
			want(t, "a", all.of("a"))
			if attribute != "stuck" {
				wantError(t, "Resume", g.Resume(t.Context(), "all", "a"), dynajournal.ErrCorruptItem)
			}
			repaired := b.row("group/all", "a")
			delete(repaired, attribute)
			b.put(projectionsTable, repaired)
			if err := g.Resume(t.Context(), "all", "a"); err != nil {
				t.Fatal(err)
			}
			want(t, "a", all.of("a"), "1 x")
		})
	}
}

// A damaged lease is replaced by a new one, and a sweep is requested.
func TestLease_DamagedIsReplaced(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	launch := func() func() {
		return start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	}
	stop := launch()
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	until(t, "a checkpoint", func() bool { return len(b.checkpoints()) > 0 })
	stop()
	for _, item := range b.items("checkpoint") {
		item["checkpoint"] = &types.AttributeValueMemberN{Value: "1"}
		b.put(projectionsTable, item)
	}
	requested := numberOf(b, b.items("owed")[0]["owed"])
	b.write("a", "y")
	launch()
	b.await("group/all", "a", 2)
	b.awaitQuiet()
	if now := numberOf(b, b.items("owed")[0]["owed"]); now <= requested {
		t.Errorf("%d sweeps were requested before, now %d", requested, now)
	}
}

// A sweep position that another program has written stops the group.
func TestSweep_DamagedPosition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(projectionsTable, map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: "journal\x00group\x00"}, "after": &types.AttributeValueMemberN{Value: "1"},
	})
	err := group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})).Run(t.Context())
	wantError(t, "Run", err, dynajournal.ErrCorruptItem)
}

// A stream without images, or with old images only, is enough to find new events.
func TestStream_AnyViewTypeFindsEvents(t *testing.T) {
	t.Parallel()
	for _, view := range types.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.stream(types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view})
			all := &recorder{}
			start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all)))
			b.awaitQuiet()
			b.write("a", "x", "y")
			b.await("group/all", "a", 2)
			want(t, "a", all.of("a"), "1 x", "2 y")
		})
	}
}

func TestRun_ReplicasNeedAllowReplicas(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	if _, err := b.table.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		ReplicaUpdates: []types.ReplicationGroupUpdate{{
			Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("eu-west-1")},
		}},
	}); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]projection.Config{"streams": b.streamed(), "sweep": fast()} {
		g := group(t, b.journal, config, projection.AtLeastOnce(name, &recorder{}))
		wantError(t, name+": Run", g.Run(t.Context()), projection.ErrReplicated)
		wantError(t, name+": Start", g.Start(t.Context()), projection.ErrReplicated)
		config.AllowReplicas = true
		start(t, group(t, b.journal, config, projection.AtLeastOnce(name, &recorder{})))
		b.await("group/"+name, "a", 1)
	}
}

// The journal was restored from a backup that is older than the offsets. HandlePurge reports it,
// and the handler gets everything again, including events that were written since.
func TestPurge_RestoredJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ahead := rowKey("group/all", "a")
	ahead["seq"] = &types.AttributeValueMemberN{Value: "7"}
	ahead["writer"] = &types.AttributeValueMemberS{Value: "of events that the backup does not have"}
	b.put(projectionsTable, ahead)
	b.write("a", "x", "y")
	all := &recorder{}
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", all)))
	until(t, "the events", func() bool { return b.rowNumber("group/all", "a", "seq") == 2 })
	want(t, "a", all.of("a"), "purge at 7", "1 x", "2 y")
}
