package projection_test

import (
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// An event of one persistence id is lost. The persistence id becomes stuck, the others are handled,
// and it continues after the journal is repaired.
func TestMissingEventMakesItsIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3")
	b.write("b", "1")
	b.removeItem("a", 2)
	all := &recorder{}
	config := fast()
	config.Attempts = 2
	g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
	start(t, g)
	if stuck := stuckness(b, "group/all", "a"); !strings.Contains(stuck.Reason, "an event is missing") {
		t.Errorf("the reason is %q", stuck.Reason)
	}
	b.await("group/all", "b", 1)
	want(t, "a", all.of("a"))
	wantError(t, "Resume", g.Resume(t.Context(), "all", "a"), dynajournal.ErrEventMissing)
	for f, err := range b.journal.Repair(t.Context(), "a", dynajournal.VerifyOptions{SealMissing: true}) {
		if err != nil || !f.Repaired {
			t.Errorf("the repair: %+v, %v", f, err)
		}
	}
	if err := g.Resume(t.Context(), "all", "a"); err != nil {
		t.Fatal(err)
	}
	b.await("group/all", "a", 3)
	want(t, "a", all.of("a"), "1 1", "3 3")
}
