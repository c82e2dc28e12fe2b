//go:build interop

package interop_test

import (
	"context"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// Go's snapshots contain the ids of commands, in a form that only Go reads. A behavior must fail to
// start with such a snapshot, instead of starting with a state that lacks events.
func TestBehaviorDoesNotStartWithASnapshotThatHasIDsOfCommands(t *testing.T) {
	s := sharedService(t)
	j := s.open(t, func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOn })
	hosted, err := entity.Open(j, ledgerType(t.Name(), retention{Every: 2, Keep: 1, DeleteEvents: true}), entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	record := func(tx *entity.Tx[totals, any]) error {
		tx.Record(orderPlaced{ID: "a", Amount: 1, Note: "first"}, orderPlaced{ID: "b", Amount: 2, Note: "second"})
		return nil
	}
	for id, opts := range map[string][]entity.CommandOption{"without": nil, "with": {entity.CommandID("request-1")}} {
		if _, err := hosted.Update(t.Context(), id, record, opts...); err != nil {
			t.Fatal(err)
		}
	}
	if err := hosted.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if a := s.jvm.ask(t, request{Op: "behave", PID: t.Name() + "|without"}); a.Failure != "" || a.Last != 2 {
		t.Errorf("without ids a behavior starts with %+v, want 2 events", a)
	}
	s.jvm.do(t, request{Op: "halt", PID: t.Name() + "|without"})
	if a := s.jvm.ask(t, request{Op: "behave", PID: t.Name() + "|with"}); a.Failure == "" {
		t.Errorf("with ids a behavior starts with %+v, want a failure", a)
	}
}
