//go:build interop

package interop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// Two deletions of a behavior run concurrently, and the one with the smaller number writes its low
// mark last. An entity in Go, whose state ends with an event that both have deleted, must find the
// snapshot's state.
func TestEntity_LowMarkLoweredByJVM(t *testing.T) {
	s := newService(t, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
	s.plugin = pekko110
	g := newGate(t)
	settings := tablesSettings(dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable)
	s.jvm = pekko110.start(t, append(settings, "dynamodb-journal.endpoint="+g.url)...)
	pid := newPID(t)
	id := strings.TrimPrefix(pid, t.Name()+"|")
	hosted := openLedgers(t, s, retention{Every: 4, Keep: 1})

	const events = 4 // between two snapshots
	var state totals
	s.jvm.do(t, request{Op: "behave", PID: pid, retention: retention{Every: events, Keep: 1, DeleteEvents: true}})
	persist := func() {
		t.Helper()
		values := make([]any, events)
		for i := range values {
			event := orderPlaced{ID: fmt.Sprint("order-", state.Placed+1), Amount: 1, Note: "note"}
			values[i], state = event, state.after(event)
		}
		s.jvm.do(t, request{Op: "command", PID: pid, Events: typedAll(t, values...), Hurried: true})
	}
	wantState := func(version int64) {
		t.Helper()
		at, err := hosted.View(t.Context(), id, func(shown totals) error {
			if got, want := typedOf(t, shown), typedOf(t, state); !got.same(want) {
				t.Errorf("a View shows %v, want %v", got.Value, want.Value)
			}
			return nil
		})
		if err != nil || at != version {
			t.Errorf("a View is at %d, %v; want %d", at, err, version)
		}
	}
	persist()
	wantState(events)

	earlier := g.block(putsLowMark(pid, events+1))
	later := g.watch(putsLowMark(pid, 2*events+1))
	removed := g.watch(func(operation, body string) bool {
		return operation == "BatchWriteItem" && strings.Contains(body, "DeleteRequest") && strings.Contains(body, pid)
	})
	persist() // deletes to 4
	persist() // deletes to 8
	<-later.passed
	<-removed.passed
	earlier.release()
	<-earlier.passed
	bounds, err := s.open(t).Bounds(t.Context(), pid)
	if err != nil || bounds.Lowest != events+1 {
		t.Fatalf("the low mark is %d, %v; want %d", bounds.Lowest, err, events+1)
	}
	wantState(3 * events)
	s.jvm.do(t, request{Op: "halt", PID: pid})
	_, err = hosted.Update(t.Context(), id, func(tx *entity.Tx[totals, any]) error {
		event := orderPlaced{ID: "order-of-go", Amount: 1, Note: "note"}
		tx.Record(event)
		state = state.after(event)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantState(3*events + 1)
}

// putsLowMark matches the request that puts a low mark.
func putsLowMark(pid string, low int64) func(operation, body string) bool {
	par, seq := fmt.Sprintf("journal-SL-%s-", pid), fmt.Sprintf(`"seq":{"N":"%d"}`, low)
	return func(operation, body string) bool {
		return operation == "PutItem" && strings.Contains(body, par) && strings.Contains(body, seq)
	}
}
