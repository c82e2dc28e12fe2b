package projection_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// marked stores two events of a, and a row as version 0.1.0 leaves it when a is stuck at the second
// event.
func marked(t *testing.T) (*bundle, *projection.Group, *poisoned) {
	t.Helper()
	b := setup(t)
	w := b.write("a", "x")
	p := newPoisoned()
	p.cured.Store(true)
	g := group(t, b.journal, attentive(fast()), projection.AtLeastOnce("all", p))
	stop := start(t, g)
	b.await("group/all", "a", 1)
	stop()
	b.append(w, "poison")
	row := b.row("group/all", "a")
	row["stuck"] = &types.AttributeValueMemberN{Value: "3"}
	row["reason"] = &types.AttributeValueMemberS{Value: "wanted"}
	row["failed_at"] = &types.AttributeValueMemberN{Value: "2"}
	row["claim"] = &types.AttributeValueMemberS{Value: "of a process that was killed"}
	b.put(projectionsTable, row)
	return b, g, p
}

// A persistence id that became stuck with version 0.1.0 stays stuck when its trigger comes, and is
// in the index of debts from then on.
func TestTriggerOfAnIDThatIsMarkedAsStuck(t *testing.T) {
	t.Parallel()
	b, g, p := marked(t)
	want(t, "stuck", b.stuckIDs(""))
	if s := stuckness(b, "group/all", "a"); s.Offset != 1 || s.Reason != "wanted" {
		t.Errorf("%+v", s)
	}
	start(t, g)
	until(t, "the mark is converted", func() bool { return b.isStuck("group/all", "a") })
	want(t, "stuck", b.stuckIDs(""), "group/all a 1 2")
	want(t, "a", p.of("a"), "1 x")
	if row := b.row("group/all", "a"); row["stuck"] != nil || row["since"] == nil {
		t.Errorf("the row is %v", row)
	}
}

// Operators and programs treat such a persistence id like any other stuck one.
func TestOperatorOfAnIDThatIsMarkedAsStuck(t *testing.T) {
	t.Parallel()
	for name, operate := range map[string]func(b *bundle, g *projection.Group) error{
		"retry": func(b *bundle, _ *projection.Group) error {
			return operator.New(b.journal, "group/all").Retry(b.Context(), "a")
		},
		"skip": func(b *bundle, _ *projection.Group) error {
			_, err := operator.New(b.journal, "group/all").Skip(b.Context(), "a", 2)
			return err
		},
		"resume": func(b *bundle, g *projection.Group) error { return g.Resume(b.Context(), "all", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, g, p := marked(t)
			if err := operate(b, g); err != nil {
				t.Fatal(err)
			}
			start(t, g)
			b.await("group/all", "a", 2)
			handled := []string{"1 x", "2 poison"}
			if name == "skip" {
				handled = handled[:1]
			}
			want(t, "a", p.of("a"), handled...)
			until(t, "the row has only an offset", func() bool { return len(b.row("group/all", "a")) == 3 })
			if n := b.debts("group/all"); n != 0 {
				t.Errorf("%d debts are stored", n)
			}
		})
	}
}
