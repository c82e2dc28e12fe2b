package explore_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
)

// A dead writer's batch lacks a member that is still in flight. Another writer recovers and writes.
// Either the member arrives first, and every reader sees the batch, or the seal arrives first, and
// no reader sees the batch.
func TestLatePut_SealOrEvent(t *testing.T) {
	for _, late := range []string{"before the recovery reads", "before the seal", "after the seal", "after the next event"} {
		t.Run(late, func(t *testing.T) {
			inWorld(t, func(w *world) {
				dead, live, reader := w.journal("dead"), w.journal("live"), w.journal("reader")
				r := w.recovered(dead)
				w.append(r, "1")
				w.net.Block("dead")
				wait := w.appending(r, "a", "b", "c")
				synctest.Wait()
				for _, put := range w.net.Pending() {
					if put.Label != "PutItem event "+key("0/3") {
						w.net.Deliver(put)
					}
				}
				missing := w.await("dead", "PutItem event "+key("0/3"))
				w.net.Crash("dead")
				if wait() == nil {
					w.Fatal("the append of a dead process succeeded")
				}
				landed := false
				land := func(when string) {
					if when == late {
						status, _ := w.net.Deliver(missing)
						landed = status == http.StatusOK
					}
				}
				land("before the recovery reads")
				w.net.Block("live")
				recovering := w.recovering(live, dynajournal.RecoverOptions{})
				if late != "before the recovery reads" {
					w.deliverUntil("live", "PutItem seal "+key("0/3"))
				}
				land("before the seal")
				w.net.Free("live")
				next, err := recovering()
				if err != nil {
					w.Fatal(err)
				}
				land("after the seal")
				w.append(next, "next")
				land("after the next event")
				whole := late == "before the recovery reads" || late == "before the seal"
				want := []string{"1"}
				if whole {
					want = append(want, "a", "b", "c")
				}
				if landed != whole {
					w.Errorf("the late put succeeded = %v, want %v", landed, whole)
				}
				if !slices.Equal(next.seen, want) {
					w.Errorf("recovery has seen %q, want %q", next.seen, want)
				}
				w.wantVisible(reader, 1, append(want, "next")...)
			})
		})
	}
}

// A dead writer's single event above the highest number arrives after another writer has recovered:
// that writer must get a conflict.
func TestLatePutAboveTheHighestNumberConflicts(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		r := w.recovered(dead)
		w.net.Block("dead")
		wait := w.appending(r, "late")
		put := w.await("dead", "PutItem event")
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("the append of a dead process succeeded")
		}
		next := w.recovered(live)
		w.net.Deliver(put)
		w.wantConflict(appendTo(w.Context(), next, "decided without it"))
		again := w.recovered(live)
		if !slices.Equal(again.seen, []string{"late"}) {
			w.Errorf("recovery has seen %q", again.seen)
		}
		w.append(again, "decided with it")
		w.wantVisible(live, 1, "late", "decided with it")
	})
}

func TestHighMarkWithoutItsEventAndEventWithoutItsHighMark(t *testing.T) {
	for _, c := range []struct {
		name, lost string
		events     []string
		there      bool
	}{
		{"event without high mark", "PutItem mark 100", []string{"100"}, true},
		{"high mark without event", "PutItem event " + key("1/0"), []string{"100"}, false},
		{"batch without high mark", "PutItem mark 100", []string{"100", "101"}, true},
		{"high mark and a part of a batch", "PutItem event " + key("1/1"), []string{"100", "101"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				dead, live := w.journal("dead"), w.journal("live")
				r := w.recovered(dead)
				w.fill(r, 99)
				w.net.Block("dead")
				wait := w.appending(r, c.events...)
				lost := w.await("dead", c.lost)
				for _, put := range w.net.Pending() {
					if put != lost {
						w.net.Deliver(put)
					}
				}
				w.net.Crash("dead")
				if wait() == nil {
					w.Fatal("an append was acknowledged without its event, or without its high mark")
				}
				want := []string{"next"}
				if c.there {
					want = append(slices.Clone(c.events), "next")
				}
				next := w.recovered(live)
				w.append(next, "next")
				w.wantVisible(live, 100, want...)
				w.net.Deliver(lost)
				w.wantVisible(live, 100, want...)
				w.append(w.recovered(live), "last")
				w.wantVisible(live, 100, append(want, "last")...)
			})
		})
	}
}

// While a recovery reads, another writer appends across the partition boundary, in every order of
// the recovery's requests and the appends.
func TestRecoveryWhileAnotherWriterAppendsAcrossTheBoundary(t *testing.T) {
	const first = 95
	for before := range 8 {
		t.Run(fmt.Sprintf("after %d requests", before), func(t *testing.T) {
			inWorld(t, func(w *world) {
				writer, other := w.journal("writer"), w.journal("other")
				r := w.recovered(writer)
				w.fill(r, first)
				want := make([]string, first)
				for i := range want {
					want[i] = "filling"
				}
				w.net.Block("other")
				wait := w.recovering(other, dynajournal.RecoverOptions{})
				for range before {
					synctest.Wait()
					if pending := w.net.Pending(); len(pending) > 0 {
						w.net.Deliver(pending[0])
					}
				}
				w.append(r, "96", "97", "98", "99", "100", "101")
				w.append(r, "102")
				want = append(want, "96", "97", "98", "99", "100", "101", "102")
				w.net.Free("other")
				got, err := wait()
				if err != nil {
					w.Fatal(err)
				}
				if !slices.Equal(got.seen, want[:len(got.seen)]) || len(got.seen) < first {
					w.Errorf("recovery has seen %q", got.seen[min(first, len(got.seen)):])
				}
				err = appendTo(w.Context(), got, "other")
				if len(got.seen) < len(want) {
					w.wantConflict(err)
				} else if err == nil {
					want = append(want, "other")
				}
				w.wantVisible(writer, 1, want...)
			})
		})
	}
}

// An event is stored, but its high mark was lost: the recovery puts the mark before its writer
// writes.
func TestRecoveryPutsTheHighMarkThatIsMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		dead, live := w.journal("dead"), w.journal("live")
		r := w.recovered(dead)
		w.fill(r, 99)
		w.net.Block("dead")
		wait := w.appending(r, "100")
		w.net.Deliver(w.await("dead", "PutItem event "+key("1/0")))
		w.net.Crash("dead")
		if wait() == nil {
			w.Fatal("an append was acknowledged without its high mark")
		}
		w.net.Forget()
		w.recovered(live)
		if l, err := live.List(w.Context(), pid); err != nil || !slices.Contains(l.HighMarks, 100) {
			w.Errorf("the high marks are %v (%v), want 100", l.HighMarks, err)
		}
	})
}
