package explore_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

func TestFirstEventListsItsID(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("writer")
		r := w.recovered(j)
		w.wantListed(j, false)
		w.append(r, "1")
		w.wantListed(j, true)
	})
}

// The first number of a persistence id is sealed, because its event was never stored. The id is
// listed when events follow.
func TestIDWhoseFirstNumberIsSealedIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		r := w.recovered(dead)
		w.net.Block("dead")
		wait := w.appending(r, "1", "2")
		w.net.Deliver(w.await("dead", "PutItem event "+key("0/2")))
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		w.append(w.recovered(live), "3")
		w.wantListed(live, true)
		w.wantVisible(live, 1, "3")
	})
}

// A copied history whose first number is closed has no event that lists the id.
func TestCopyWhoseFirstNumberIsClosedIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		closed := dynajournal.Record{Kind: dynajournal.RecordClosed, SequenceNumber: 1, Last: 1}
		if err := w.copyRecords(j, closed, event(2, "2")); err != nil {
			w.Fatal(err)
		}
		w.wantListed(j, true)
	})
}
