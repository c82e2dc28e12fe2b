package explore_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// A repair has read the marks. Then a JVM deletes the members of an atomic write that are stored,
// while its last member is in flight. With the old low mark it seems that the atomic write can
// never become whole. The rest of it must stay.
func TestRepairLeavesTheRestOfABatchThatIsBeingCut(t *testing.T) {
	inWorldOf(t, dynajournal.TableOptions{SharedWithJVM: true}, func(w *world) {
		client := dynamodb.NewFromConfig(w.engine.AWSConfig())
		plugin := jvm.New(client, dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, dynajournal.DefaultJournalName, dynajournal.DefaultSequenceShards)
		dead, other, repairer := w.journal("dead"), w.journal("other"), w.journal("repairer")
		r := w.recovered(dead)
		w.net.Block("dead")
		wait := w.appending(r, "1", "2", "3")
		last := w.await("dead", "PutItem event "+key("0/3"))
		for _, put := range w.net.Pending() {
			if put.Label != last.Label {
				w.net.Deliver(put)
			}
		}
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		w.net.Block("repairer")
		repaired := do(func() (struct{}, error) {
			opts := dynajournal.VerifyOptions{RemoveIncomplete: true, RemoveOrphans: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
			for _, err := range repairer.Repair(w.Context(), pid, opts) {
				if err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		})
		w.deliverUntil("repairer", "Query")
		if err := plugin.Delete(w.Context(), pid, 2); err != nil {
			w.Fatal(err)
		}
		w.net.Deliver(last)
		w.wantVisible(other, 1, "3")
		w.net.Free("repairer")
		if _, err := repaired(); err != nil {
			w.Fatal(err)
		}
		w.wantVisible(other, 1, "3")
	})
}
