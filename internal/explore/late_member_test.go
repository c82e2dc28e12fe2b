package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// A reader has left out a batch that lacks a member. Then the member is stored, and the next event
// is acknowledged. Only then does the reader read the page with that event: it must not return the
// event without the batch.
func TestReader_BatchCompletedDuringRead(t *testing.T) {
	for kind, tables := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		for _, missing := range []string{"0/97", "0/98"} {
			for _, deletes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, earlier events are deleted meanwhile: %v", kind, missing, deletes), func(t *testing.T) {
					inWorldOf(t, tables, func(w *world) { w.becomesWhole(missing, deletes) })
				})
			}
		}
	}
}

func (w *world) becomesWhole(missing string, deletes bool) {
	w.Helper()
	writer, reader := w.journal("writer"), w.journal("reader")
	r := w.recovered(writer)
	w.fill(r, 96)
	w.net.Block("writer")
	wait := w.appending(r, "a", "b", "c", "d", "e") // 97 to 101
	w.deliverAllBut("writer", "PutItem event "+key(missing))
	w.net.Block("reader")
	reading := do(func() ([]string, error) { return w.visible(reader, 97), nil })
	last := w.deliverAllBut("reader", "Query "+key("1"))
	w.net.Free("writer")
	if err := wait(); err != nil {
		w.Fatal(err)
	}
	if deletes {
		if _, err := r.DeleteTo(w.Context(), 10); err != nil {
			w.Fatal(err)
		}
	}
	w.append(r, "f")
	w.net.Deliver(last)
	synctest.Wait()
	w.net.Free("reader")
	if got, _ := reading(); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		w.Errorf("the reader was given %q, want a to f", got)
	}
}

// deliverAllBut delivers all requests of a process except the one whose label begins with a text,
// and returns that request.
func (w *world) deliverAllBut(process, label string) *explore.Request {
	w.Helper()
	for {
		synctest.Wait()
		var late *explore.Request
		delivered := false
		for _, r := range w.net.Pending() {
			switch {
			case r.Process != process:
			case strings.HasPrefix(r.Label, label):
				late = r
			default:
				w.net.Deliver(r)
				delivered = true
			}
		}
		if delivered {
			continue
		}
		if late == nil {
			w.Fatalf("%s has not sent %q", process, label)
		}
		return late
	}
}
