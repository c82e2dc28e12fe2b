package projection_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// audit returns the findings of an audit.
func (b *bundle) audit(name string, opts operator.AuditOptions) []string {
	b.Helper()
	opts.PerSecond = -1
	var all []string
	for f, err := range operator.New(b.journal, name).Audit(b.Context(), opts) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %s %d+%d", f.Projection, f.PersistenceID, f.Kind, f.Offset, f.Events))
		if f.Detail == "" || f.Age < 0 {
			b.Errorf("%+v", f)
		}
	}
	slices.Sort(all)
	return all
}

// alter changes an attribute of a row by hand.
func (b *bundle) alter(name, pid, attribute string, value types.AttributeValue) {
	b.Helper()
	_, err := b.table.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(projectionsTable), Key: rowKey(name, pid),
		UpdateExpression:          aws.String("SET " + attribute + " = :v"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	if err != nil {
		b.Fatal(err)
	}
}

func TestAudit_FindsUnhandledEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pids := []string{"ahead", "behind", "damaged", "fine", "life", "lost", "stuck"}
	writers := map[string]*dynajournal.Writer{}
	for _, pid := range pids {
		writers[pid] = b.write(pid, "x", "y")
	}
	p := newPoisoned()
	p.on = func(inner func(context.Context, dynajournal.Event) error) func(context.Context, dynajournal.Event) error {
		return func(ctx context.Context, e dynajournal.Event) error {
			if e.PersistenceID != "stuck" {
				return nil
			}
			return inner(ctx, e)
		}
	}(p.on)
	stop := start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", p), projection.AtLeastOnce("other", &recorder{})))
	for _, pid := range pids {
		b.await("group/other", pid, 2)
		if pid != "stuck" {
			b.await("group/all", pid, 2)
		}
	}
	stuckness(b, "group/all", "stuck")
	stop()
	now := operator.AuditOptions{MinAge: -1}
	want(t, "before", b.audit("", now), "group/all stuck stuck 1+1")

	if _, err := writers["behind"].Append(t.Context(), "z"); err != nil { // no trigger follows
		t.Fatal(err)
	}
	b.write("new", "x")
	if _, err := b.table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(projectionsTable), Key: rowKey("group/all", "lost"),
	}); err != nil {
		t.Fatal(err)
	}
	b.alter("group/all", "ahead", "seq", &types.AttributeValueMemberN{Value: "99"})
	b.alter("group/all", "life", "writer", &types.AttributeValueMemberS{Value: "somebody"})
	b.alter("group/all", "damaged", "seq", &types.AttributeValueMemberS{Value: "two"})
	checked := 0
	now.Progress = func(ids int) { checked = ids }
	want(t, "the audit", b.audit("group/all", now), "group/all ahead ahead 99+0", "group/all behind behind 2+1",
		"group/all damaged unreadable 0+0", "group/all life other-life 2+2", "group/all lost no-row 0+2",
		"group/all new no-row 0+1", "group/all stuck stuck 1+1")
	if checked != len(pids)+1 {
		t.Errorf("looked at %d ids", checked)
	}
	want(t, "the other", b.audit("group/other", now), "group/other behind behind 2+1", "group/other new no-row 0+1")
	want(t, "what is on its way", b.audit("group/other", operator.AuditOptions{MinAge: time.Hour}))

	lag, err := operator.New(b.journal, "").MeasureLag(t.Context(), operator.AuditOptions{PerSecond: -1})
	if err != nil || len(lag) != 2 {
		t.Fatalf("%+v, %v", lag, err)
	}
	if l := lag[0]; l.Projection != "group/all" || l.IDs != 5 || l.Stuck != 1 || l.Events != 7 || l.Oldest <= 0 {
		t.Errorf("%+v", l)
	}
	if l := lag[1]; l.IDs != 2 || l.Events != 2 || l.Stuck != 0 {
		t.Errorf("%+v", l)
	}
}

// docs/projections-operate.md states these costs of an audit.
func TestAudit_Costs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	stop()
	var spent costs
	b.journal = b.Journal(spent.install)
	spent.take()
	b.audit("group/all", operator.AuditOptions{})
	one := spent.take()
	b.write("b", "x")
	start(t, group(t, b.Journal(), fast(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "b", 1)
	spent.take()
	b.audit("group/all", operator.AuditOptions{})
	two := spent.take()
	if got := two.Sub(one); got != (dynajournal.Cost{Requests: 3, ReadUnits: 4}) {
		t.Errorf("an id costs %+v", got)
	}
}

func TestPositions_OfStream(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	client := dynamodbstreams.NewFromConfig(b.Engine.AWSConfig())
	positions := func(name string) []operator.Position {
		t.Helper()
		all, err := operator.New(b.journal, name).Positions(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := positions(""); len(all) > 0 {
		t.Errorf("nothing has run: %+v", all)
	}
	b.write("a", "x")
	stop := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}), projection.AtLeastOnce("other", &recorder{})))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	until(t, "the lease is stored", func() bool { all := positions(""); return len(all) == 2 && all[0].Worker != "" })
	for i, p := range positions("") {
		if p.Projection != []string{"group/all", "group/other"}[i] || p.Shard == "" || p.Unread || p.SweepPending || p.Delay > time.Minute {
			t.Errorf("%+v", p)
		}
	}
	if all := positions("group/other"); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	stop()
	if all := positions("group/all"); all[0].Worker != "" {
		t.Errorf("after the end: %+v", all)
	}
	_, err := operator.New(b.journal, "").Positions(t.Context(), nil)
	wantError(t, "without a client", err, dynajournal.ErrInvalidArgument)
	_, err = operator.New(b.journal, "group/none").Positions(t.Context(), client)
	wantError(t, "of none", err, projection.ErrNoProjection)
}

// Persistence ids that a projection does not take are not reported as findings. Events that a
// filter leaves out before a failing event are skipped with it.
func TestOperator_FilteredProjection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("no-1", "x")
	b.write("yes-2", tagged("w", "kept"), tagged("x", "left"), tagged("y", "kept"), tagged("z", "kept"))
	p := &recorder{on: func(_ context.Context, e dynajournal.Event) error {
		if e.SequenceNumber == 3 {
			return errWanted
		}
		return nil
	}}
	start(t, group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", p,
		projection.OnlyIDs("yes-2", "yes-2"), projection.OnlyTags("kept"))))
	stuckness(b, "group/all", "yes-2")
	want(t, "the audit", b.audit("", operator.AuditOptions{MinAge: -1}), "group/all yes-2 stuck 2+2")
	if s, err := operator.New(b.journal, "group/all").Skip(t.Context(), "yes-2", 3); err != nil || s.First != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	b.await("group/all", "yes-2", 4)
	want(t, "yes-2", p.of("yes-2"), "1 w", "4 z")
}
